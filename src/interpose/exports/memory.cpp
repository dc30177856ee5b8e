// MPI_Alloc_mem, which hands out pieces of this rank's heap, and MPI_Free_mem.
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
  shm::Heap* const heap = heap_for(bytes);
  void* const piece =
      heap && base && narrow<MPI_Info>(info) == MPI_INFO_NULL ? heap->take(static_cast<std::size_t>(bytes)) : nullptr;
  if (!piece) return call_host(host.Alloc_mem, bytes, info, base);
  *static_cast<void**>(base) = piece;
  return MPI_SUCCESS;
}

OMNES_EXPORT(Free_mem, void* base) {
  find_host();
  if (shm::Heap* heap = own_heap_if_made(); heap && heap->holds(base)) {
    heap->give_back(base);
    return MPI_SUCCESS;
  }
  return call_host(host.Free_mem, base);
}

}  // namespace omnes::interpose
