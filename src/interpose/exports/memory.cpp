// Finds or makes the heap; MPI_Alloc_mem and MPI_Free_mem.
#include "interpose/exports/memory.hpp"

#include <dlfcn.h>

#include <atomic>
#include <string>

#include "interpose/host/export.hpp"
#include "interpose/process/process.hpp"

namespace omnes::interpose {

namespace {

std::atomic<shm::Heap*> made{nullptr};

using Find = shm::Heap* (*)();

/// What libomnes-heap.so exports: its heap.
Find find_shared_heap() { return reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "omnes_heap")); }

shm::Heap* find_or_make() {
  if constexpr (simulated) return nullptr;  // no other process would read it
  if (!memory_is_mapped()) return nullptr;
  if (const Find shared = find_shared_heap())
    if (shm::Heap* heap = shared()) return heap;
  std::string error;
  return shm::Heap::make(shm::Heap::usual_bytes(), error).release();
}

/// The heap for an allocation of so many bytes by MPI_Alloc_mem; null: let the host do it.
shm::Heap* heap_for(MPI_Aint bytes) {
  if (find_host() != built_for || prepare_process() != nullptr) return nullptr;
  const bool large = bytes > 0 && static_cast<std::size_t>(bytes) >= process().settings.direct_copy_from({});
  return large ? own_heap() : nullptr;
}

}  // namespace

bool memory_is_mapped() {
  const Settings& settings = process().settings;
  return !settings.off && settings.heap != HeapUse::off && settings.transport != Transport::mpi;
}

shm::Heap* own_heap() {
  static shm::Heap* const heap = made = find_or_make();
  return heap;
}

bool shared_heap_is_loaded() { return find_shared_heap() != nullptr; }

OMNES_EXPORT(Alloc_mem, MPI_Aint bytes, Wide info, void* base) {
  shm::Heap* const heap = heap_for(bytes);
  void* const piece =
      heap && base && narrow<MPI_Info>(info) == MPI_INFO_NULL ? heap->take(static_cast<std::size_t>(bytes)) : nullptr;
  if (!piece) return call_host(host.Alloc_mem, bytes, info, base);
  *static_cast<void**>(base) = piece;
  return MPI_SUCCESS;
}

OMNES_EXPORT(Free_mem, void* base) {
  find_host();
  if (shm::Heap* heap = made; heap && heap->holds(base)) {
    heap->give_back(base);
    return MPI_SUCCESS;
  }
  return call_host(host.Free_mem, base);
}

}  // namespace omnes::interpose
