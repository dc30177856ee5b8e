// MPI_Alloc_mem, which hands out pieces of this rank's heap, and MPI_Free_mem. And what the C library's functions would do otherwise to
// pages of the program that have come into the heap.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <new>

#include "interpose/exports/startup.hpp"
#include "interpose/host/export.hpp"
#include "interpose/process/own_memory.hpp"
#include "interpose/process/process.hpp"

namespace omnes::interpose {

namespace {

/// The heap for an allocation of so many bytes by MPI_Alloc_mem; null: let the host do it.
shm::Heap* heap_for(MPI_Aint bytes) {
  if (find_host() != built_for || prepare_process() != nullptr) return nullptr;
  const bool large =
      bytes > 0 && static_cast<std::size_t>(bytes) >= process().settings.shared_memory.direct_copy_from({});
  return large ? own_heap() : nullptr;
}

}  // namespace

OMNES_EXPORT(Alloc_mem, MPI_Aint bytes, Wide info, void* base) {
  void* piece = nullptr;
  try {
    if (shm::Heap* const heap = heap_for(bytes); heap && base && narrow<MPI_Info>(info) == MPI_INFO_NULL)
      piece = heap->take(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {  // for the heap's books: the host may have some left
  }
  if (!piece) return call_host(host.Alloc_mem, bytes, info, base);
  *static_cast<void**>(base) = piece;
  return MPI_SUCCESS;
}

OMNES_EXPORT(Free_mem, void* base) {
  find_host();
  if (shm::Heap* heap = own_heap_if_made(); heap && heap->holds(base)) {
    try {
      heap->give_back(base);
    } catch (const std::bad_alloc&) {  // for the heap's books: the piece is not handed out again
    }
    return MPI_SUCCESS;
  }
  return call_host(host.Free_mem, base);
}

#ifndef OMNES_ABI_SMPI

namespace {

/// The C library's, which this library stands before.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// As <linux/mman.h> has them since Linux 5.18 and 6.13.
constexpr int discard_locked = 24, install_guards = 102;

}  // namespace

// Without pages of their own behind them, private ones are zero afterwards, shared ones what they were.
extern "C" __attribute__((visibility("default"))) int madvise(void* address, std::size_t bytes, int advice) noexcept {
  if (is_probe(address)) return 0;
  static auto* const real = next<int(void*, std::size_t, int)>("madvise");
  shm::Adoption* const adoption = adoption_if_made();
  switch (advice) {
    case MADV_DONTNEED:
    case MADV_FREE:
    case discard_locked:
    case install_guards:
      if (adoption) adoption->before_discard(address, bytes);
      break;
    case MADV_DONTFORK:
    case MADV_WIPEONFORK:
      set_apart(bytes);
      if (adoption) adoption->before_move(address, bytes);
      break;
    default: break;
  }
  return real(address, bytes, advice);
}

// The C library's own calls, as in free(), do not come here.
extern "C" __attribute__((visibility("default"))) int munmap(void* address, std::size_t bytes) noexcept {
  static auto* const real = next<int(void*, std::size_t)>("munmap");
  if (shm::Adoption* const adoption = adoption_if_made()) adoption->before_discard(address, bytes);
  return real(address, bytes);
}

// What consists of several mappings cannot be moved. Of 0 bytes: the kernel makes a second mapping of those that are shared.
extern "C" __attribute__((visibility("default"))) void* mremap(void* address, std::size_t bytes, std::size_t new_bytes,
                                                               int flags, ...) noexcept {
  if (is_probe(address)) return MAP_FAILED;
  static auto* const real = next<void*(void*, std::size_t, std::size_t, int, void*)>("mremap");
  void* to = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list more;
    va_start(more, flags);
    to = va_arg(more, void*);
    va_end(more);
  }
  if (shm::Adoption* const adoption = adoption_if_made())
    adoption->before_move(address, std::max<std::size_t>(bytes, 1));
  return real(address, bytes, new_bytes, flags, to);
}

extern "C" __attribute__((visibility("default"))) int pkey_mprotect(void* address, std::size_t bytes, int protection,
                                                                    int key) noexcept {
  static auto* const real = next<int(void*, std::size_t, int, int)>("pkey_mprotect");
  if (real == nullptr) {  // the C library has it since glibc 2.27
    errno = ENOSYS;
    return -1;
  }
  set_apart(bytes);
  return real(address, bytes, protection, key);
}

// As fork, but without the handlers that copy for the child what its parent shares with other ranks.
extern "C" __attribute__((visibility("default"))) pid_t fork_without_handlers() noexcept __asm__("_Fork");
pid_t fork_without_handlers() noexcept {
  static auto* const real = next<pid_t()>("_Fork");
  if (real == nullptr) {
    errno = ENOSYS;  // the C library has it since glibc 2.34
    return -1;
  }
  shm::before_fork();
  const pid_t child = real();
  child == 0 ? shm::after_fork_in_child() : shm::after_fork_in_parent();
  return child;
}

namespace {

struct Child {
  int (*run)(void*);
  void* argument;
};

int run_with_copies(void* child) {
  shm::after_fork_in_child();
  const auto [run, argument] = *static_cast<Child*>(child);
  return run(argument);
}

}  // namespace

// The same, where it forks: a child that has files in common with its parent could not close its own.
extern "C" __attribute__((visibility("default"))) int clone(int (*run)(void*), void* stack, int flags, void* argument,
                                                            ...) noexcept {
  static auto* const real = next<int(int (*)(void*), void*, int, void*, void*, void*, void*)>("clone");
  va_list more;
  va_start(more, argument);
  void* const parent_id = va_arg(more, void*);
  void* const storage = va_arg(more, void*);
  void* const child_id = va_arg(more, void*);
  va_end(more);
  if ((flags & (CLONE_VM | CLONE_FILES)) != 0 || run == nullptr)
    return real(run, stack, flags, argument, parent_id, storage, child_id);
  Child child{run, argument};
  shm::before_fork();
  const int made = real(run_with_copies, stack, flags, &child, parent_id, storage, child_id);
  shm::after_fork_in_parent();
  return made;
}

#endif

}  // namespace omnes::interpose
