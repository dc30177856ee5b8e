// Memory of this process that the other ranks of the node map: its heap, of which MPI_Alloc_mem hands out pieces, and its
// parts of shared windows.
#pragma once

#include <atomic>
#include <cstddef>

#include "transport/shm/heap/adoption.hpp"
#include "transport/shm/heap/heap.hpp"
#include "transport/shm/heap/shared_windows.hpp"

namespace omnes::interpose {

/// Whether the settings let ranks read each other's memory in place.
bool memory_is_mapped();
/// Null where there is none, or none is wanted. One for the life of the process.
shm::Heap* own_heap();
/// The same, but none is made.
shm::Heap* own_heap_if_made();
/// By which buffers of the program come into it; null where none are.
shm::Adoption* adoption();
/// The same, but none is made.
shm::Adoption* adoption_if_made();
/// Of a call of madvise or mremap: it is none of the program, and asks only whether such calls come to this library.
bool is_probe(const void* address) noexcept;
/// The program has done something to so much of its memory that would be lost if that were adopted later, and that the kernel does
/// not say: where it is enough for a buffer, nothing more is adopted.
void set_apart(std::size_t bytes) noexcept;
/// Whether libomnes-heap.so is there, whose heap is ours, too.
bool shared_heap_is_loaded();

/// Whether this rank has made a window, if only for some time.
extern std::atomic<bool> windows_made;
/// Those of MPI_Win_allocate_shared that have not been freed: collectives read their memory in place.
shm::SharedWindows& shared_windows();

}  // namespace omnes::interpose
