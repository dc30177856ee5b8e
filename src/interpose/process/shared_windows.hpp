// Whether the program has made a window, and the memory of those that ranks share.
#pragma once

#include <atomic>

#include "transport/shm/shared_windows.hpp"

namespace omnes::interpose {

/// This rank has made one, if only for some time.
extern std::atomic<bool> windows_made;

/// Those of MPI_Win_allocate_shared that have not been freed: collectives read their memory in place.
shm::SharedWindows& shared_windows();

}  // namespace omnes::interpose
