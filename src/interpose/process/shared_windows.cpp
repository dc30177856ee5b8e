// Both are there from the start, and never destroyed.
#include "interpose/process/shared_windows.hpp"

namespace omnes::interpose {

std::atomic<bool> windows_made{false};

shm::SharedWindows& shared_windows() {
  static auto& all = *new shm::SharedWindows;
  return all;
}

}  // namespace omnes::interpose
