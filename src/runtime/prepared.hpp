// A plan, with what led to it.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "runtime/plan.hpp"
#include "runtime/renumbered.hpp"
#include "runtime/sample.hpp"
#include "select/select.hpp"

namespace omnes::inline runtime {

/// What is decided and made once for all calls that are alike except for their sizes, and the sizes of the last of them.
/// Aligned, so that its first cache line has all that a run needs of it.
struct alignas(64) Prepared {
  Plan plan;

  // Of the last sizes:
  std::size_t count = 0, element = 0;
  std::size_t bytes = 0;      ///< of a part; of unequal ones their average, where it is known
  std::size_t own_bytes = 0;  ///< the same as this rank alone sees it

  bool needs_all_counts = false;  ///< `plan` is that of their exchange only; then comes Team::second_stage()
  Plan second;                    ///< which has this one
  bool in_rows = false;           ///< unequal parts have to lie one behind the other
  Choice choice;
  Renumbered renumbered;
  std::string algorithm;  ///< with parameters, as OMNES_<OPERATION> takes it, and how it is renumbered
  std::string why;
  std::string advice;  ///< the model's, where it has chosen

  ByteRange sizes;  ///< of a part, for which all of this holds

  /// Calls whose parts have as many bytes, rounded down to a power of two.
  struct Counted {
    std::size_t bytes = 0;
    std::uint64_t calls = 0, volume = 0;
    double seconds = 0;
    double fastest = std::numeric_limits<double>::infinity();
    std::uint64_t ticks = 0, fewest_ticks = ~std::uint64_t{0};  ///< of calls that were timed so
    Sample* sample = nullptr;  ///< of the communicator's calls of this kind, if one is kept

    void time(double one) {
      seconds += one;
      fastest = std::min(fastest, one);
    }
    void time_ticks(std::uint64_t one) {
      ticks += one;
      fewest_ticks = std::min(fewest_ticks, one);
    }
  };
  std::vector<Counted> counted;
  std::size_t last_counted = 0;  ///< its place there
  Operation operation{};
  int root = 0;
  /// Gives a plan that has multiples equal parts of other sizes, which are in range.
  void size_whole(std::size_t elements, std::size_t element_bytes) {
    resize_whole(plan, elements, element_bytes);
    ++plan.sizing;
    count = elements;
    element = element_bytes;
    bytes = own_bytes = elements * element_bytes;
  }
  /// Counts a call of the last sizes.
  Counted& count_one() {
    const std::size_t rounded = std::bit_floor(bytes);
    if (last_counted >= counted.size() || counted[last_counted].bytes != rounded) [[unlikely]]
      find_counted(rounded);
    Counted& found = counted[last_counted];
    ++found.calls;
    found.volume += own_bytes;
    return found;
  }
  /// Counts one that took so long.
  void add(std::chrono::duration<double> time) { count_one().time(time.count()); }

 private:
  void find_counted(std::size_t rounded);
};

}  // namespace omnes::inline runtime
