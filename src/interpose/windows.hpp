// Whether the program has made a window.
#pragma once

#include <atomic>

namespace omnes {

/// This rank has made one, if only for some time.
extern std::atomic<bool> windows_made;

}  // namespace omnes
