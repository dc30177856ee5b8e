// The clock that all processes of a node share.
#pragma once

#include <chrono>
#include <cstdint>

namespace omnes {

/// ns of CLOCK_MONOTONIC.
inline std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace omnes
