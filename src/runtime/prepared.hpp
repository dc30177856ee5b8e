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

  /// Calls whose parts have as many bytes, rounded down to a power of two.
  ///
  /// Quick ones are not all timed: that would take a tenth of their time. Those that are not, are taken to have been as long as the last
  /// one before them that was, but for long waits, which who waits has timed (Plan::waited).
  struct Counted {
    std::size_t bytes = 0;
    std::uint64_t calls = 0, volume = 0;
    double seconds = 0;  ///< but for the last ones that were not timed
    double fastest = std::numeric_limits<double>::infinity();
    Sample* sample = nullptr;  ///< of the communicator's calls of this kind, if one is kept
    std::int64_t untimed = 0;  ///< the last ones that were not timed
    std::int64_t waited = 0;   ///< ns of their long waits
    std::int64_t usual = 0;    ///< ns of the rest of each; 0: all calls are to be timed

    void time(double one) {
      take_untimed();
      seconds += one;
      fastest = std::min(fastest, one);
    }
    void take_untimed() {
      seconds += static_cast<double>(untimed * usual + waited) * 1e-9;
      untimed = waited = 0;
    }
  };

  // Of the last sizes:
  std::size_t count = 0, element = 0;
  std::size_t bytes = 0;      ///< of a part; of unequal ones their average, where it is known
  std::size_t own_bytes = 0;  ///< the same as this rank alone sees it
  Lent quick;                 ///< such calls that go untimed

  bool needs_all_counts = false;  ///< `plan` is that of their exchange only; then comes Team::second_stage()
  Plan second;                    ///< which has this one
  bool in_rows = false;           ///< unequal parts have to lie one behind the other
  Choice choice;
  Renumbered renumbered;
  std::string algorithm;  ///< with parameters, as OMNES_<OPERATION> takes it, and how it is renumbered
  std::string why;
  std::string advice;  ///< the model's, where it has chosen

  ByteRange sizes;  ///< of a part, for which all of this holds

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
    settle_quick();
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
  /// Counts those that went untimed. Before there are other sizes.
  void settle_quick() {
    if (quick.lent != 0) counted[last_counted].sample->take_back();
    if (quick.before != 0) count_quick();
  }
  /// Counts one that took so long.
  void add(std::chrono::duration<double> time) { count_one().time(time.count()); }

 private:
  void find_counted(std::size_t rounded);
  void count_quick();
};

}  // namespace omnes::inline runtime
