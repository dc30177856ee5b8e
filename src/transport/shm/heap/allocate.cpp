// libomnes-heap.so: large allocations of the program come from a heap that the other ranks of the node can map.
//
// How: loaded before the C library (LD_PRELOAD) it takes the place of malloc and its relatives. With OMNES_HEAP=shared, allocations of
// `large` bytes and more are pieces of the heap; all others, and everything without that setting, go to the C library as ever.
// A program that mixes allocators loses nothing: what is freed here and did not come from the heap is the C library's.
// The C library must be glibc, whose own functions stay callable as __libc_malloc and so on.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <string>

#include "transport/shm/heap/heap.hpp"

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* piece, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* piece);
}

namespace {

using omnes::shm::Heap;

// Bytes; smaller ones would waste pages, and what they hold is sent nearly as fast by copies.
constexpr std::size_t large = 16 * 1024;

std::atomic<bool> tried{false};  // to make it; true for what that allocates itself
std::atomic<Heap*> heap{nullptr};

// The environment as it is before main(): before the C library has set itself up there is none yet.
void make_heap() {
  if (environ == nullptr || tried.exchange(true)) return;
  const char* wanted = getenv("OMNES_HEAP");
  std::string error;
  if (wanted != nullptr && strcmp(wanted, "shared") == 0) heap = Heap::make(Heap::usual_bytes(), error).release();
}

Heap* heap_for(std::size_t bytes) {
  if (bytes < large) return nullptr;
  if (!tried.load(std::memory_order_relaxed)) make_heap();
  return heap.load(std::memory_order_acquire);
}

Heap* heap_of(const void* piece) {
  Heap* const mine = heap.load(std::memory_order_relaxed);
  return mine != nullptr && mine->holds(piece) ? mine : nullptr;
}

void* aligned(std::size_t alignment, std::size_t bytes) {
  if (Heap* const mine = heap_for(bytes))
    if (void* const piece = mine->take(bytes, alignment)) return piece;
  return __libc_memalign(alignment, bytes);
}

bool power_of_two(std::size_t n) { return n != 0 && (n & (n - 1)) == 0; }

}  // namespace

#define OMNES_ALLOCATE extern "C" __attribute__((visibility("default")))

/// For the library that serves MPI: null where there is no heap.
OMNES_ALLOCATE Heap* omnes_heap() {
  heap_for(large);
  return heap;
}

OMNES_ALLOCATE void* malloc(std::size_t bytes) {
  if (Heap* const mine = heap_for(bytes))
    if (void* const piece = mine->take(bytes)) return piece;
  return __libc_malloc(bytes);
}

OMNES_ALLOCATE void* calloc(std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all))
    if (Heap* const mine = heap_for(all))
      if (void* const piece = mine->take(all, 1, true)) return piece;
  return __libc_calloc(count, bytes);
}

OMNES_ALLOCATE void free(void* piece) {
  if (Heap* const mine = heap_of(piece)) {
    const int before = errno;
    mine->give_back(piece);
    errno = before;
  } else {
    __libc_free(piece);
  }
}

OMNES_ALLOCATE std::size_t malloc_usable_size(void* piece) {
  if (const Heap* const mine = heap_of(piece)) return mine->room(piece);
  static const auto of_libc = reinterpret_cast<std::size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return of_libc(piece);
}

OMNES_ALLOCATE void* realloc(void* piece, std::size_t bytes) {
  if (piece == nullptr) return malloc(bytes);
  Heap* const mine = heap_of(piece);
  if (mine == nullptr && heap_for(bytes) == nullptr) return __libc_realloc(piece, bytes);
  if (bytes == 0) {
    free(piece);
    return nullptr;
  }
  const std::size_t room = malloc_usable_size(piece);
  if (mine != nullptr && bytes >= large && bytes <= room && room - bytes < bytes) return piece;
  void* const moved = malloc(bytes);
  if (moved == nullptr) return nullptr;
  memcpy(moved, piece, bytes < room ? bytes : room);
  free(piece);
  return moved;
}

OMNES_ALLOCATE void* memalign(std::size_t alignment, std::size_t bytes) { return aligned(alignment, bytes); }

OMNES_ALLOCATE void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (power_of_two(alignment)) return aligned(alignment, bytes);
  errno = EINVAL;
  return nullptr;
}

OMNES_ALLOCATE int posix_memalign(void** made, std::size_t alignment, std::size_t bytes) {
  if (!power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* const piece = aligned(alignment, bytes);
  if (piece == nullptr) return ENOMEM;
  *made = piece;
  return 0;
}

OMNES_ALLOCATE void* valloc(std::size_t bytes) {
  return aligned(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes);
}

OMNES_ALLOCATE void* pvalloc(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return aligned(page, (bytes + page - 1) / page * page);
}
