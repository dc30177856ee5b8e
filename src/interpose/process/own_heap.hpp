// Memory that the ranks of a node map: this rank's heap. MPI_Alloc_mem hands out pieces of it.
#pragma once

#include "transport/shm/heap.hpp"

namespace omnes::interpose {

/// Whether the settings let ranks read each other's memory in place.
bool memory_is_mapped();
/// Null where there is none, or none is wanted. One for the life of the process.
shm::Heap* own_heap();
/// The same, but none is made.
shm::Heap* own_heap_if_made();
/// Whether libomnes-heap.so is there, whose heap is ours, too.
bool shared_heap_is_loaded();

}  // namespace omnes::interpose
