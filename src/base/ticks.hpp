// A clock that is read in a few nanoseconds: for times of which many are added up.
//
// What is read is the processor's own counter, where Linux takes its time from that: then it goes evenly, also on to another
// core. Else it is CLOCK_MONOTONIC, in ns. What a tick is, the two clocks tell when they are compared a second time.
#pragma once

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

namespace omnes::ticks {

/// ns of CLOCK_MONOTONIC.
inline std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline bool of_processor = false;  // set by use(), before any are read

/// Of something that begins; what the processor does beside it may begin before.
inline std::uint64_t at_begin() {
#if defined(__x86_64__)
  if (of_processor) [[likely]]
    return __rdtsc();
#endif
  return static_cast<std::uint64_t>(monotonic_ns());
}

/// Of something that is over: all that was read before has come.
inline std::uint64_t at_end() {
#if defined(__x86_64__)
  if (of_processor) [[likely]] {
    _mm_lfence();
    return __rdtsc();
  }
#endif
  return static_cast<std::uint64_t>(monotonic_ns());
}

/// Both clocks at one time.
struct Pair {
  std::uint64_t ticks = 0;
  std::int64_t ns = 0;

  /// Others may have the CPU in between: of some tries the one in which no long time passes.
  static Pair now() {
    Pair best;
    std::uint64_t shortest = ~std::uint64_t{0};
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t before = at_end();
      const std::int64_t ns = monotonic_ns();
      const std::uint64_t passed = at_end() - before;
      if (passed < shortest) best = {before + passed / 2, ns};
      shortest = std::min(shortest, passed);
    }
    return best;
  }
};

/// Before the first are read. Returns when that was.
inline const Pair& use() {
  static const Pair first = [] {
#if defined(__x86_64__)
    std::string source;
    std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
    of_processor = source == "tsc";
#endif
    return Pair::now();
  }();
  return first;
}

/// Since then some time has passed.
inline double seconds_of_one() {
  if (!of_processor) return 1e-9;
  const Pair& first = use();
  const Pair now = Pair::now();
  return static_cast<double>(now.ns - first.ns) * 1e-9 / static_cast<double>(now.ticks - first.ticks);
}

}  // namespace omnes::ticks
