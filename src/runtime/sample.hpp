// Of which calls of a communicator is kept when they were: for statistics.
//
// Overview. Of each kind of call (operation, size class) all are kept until there are so many, then every second, every
// fourth ...: call k is kept if the fraction of k times the golden ratio is below 2^-n. What has been kept becomes one half
// each time: what the next n leaves.
//
// Why it is correct. All members of a communicator make its calls in the same order, so k is the same on all of them and
// all keep the same calls, without asking each other: afterwards their arrivals can be compared, call by call. Multiples of
// an irrational number are spread evenly in each part of a program's loop, whatever its period; those below 2^-(n+1) are
// among those below 2^-n. How long calls took is no matter of this sample alone: a few, in which a rank waits for a late one or
// for a CPU, may take nearly all of the time, and a sample would have too many of them, or too few (prepared.hpp).
//
// Cost: of a call that is not kept a comparison and a subtraction, and the search for the next one that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "schedule/schedule.hpp"

namespace omnes::inline runtime {

/// One that was kept.
struct TimedCall {
  std::uint64_t number;     ///< of its kind, at least 1
  std::int64_t begin, end;  ///< ns of CLOCK_MONOTONIC, which all processes of a node share
  std::int32_t root;        ///< 0 where there is none
  std::uint32_t site;       ///< where the program makes it; 0: nobody asked
};

/// Calls of a sample that are not kept, for one who only counts them down: each store before a rank's first one into shared memory
/// takes some ns of all ranks' time.
struct Lent {
  std::uint64_t left = 0, lent = 0;
  std::uint64_t before = 0;  ///< made with those that have been taken back
  bool take() {
    if (left == 0) return false;
    --left;
    return true;
  }
  std::uint64_t made() const { return lent - left; }
};

/// Of the calls of one kind.
class Sample {
 public:
  /// `most`: how many are kept.
  explicit Sample(std::size_t most) : max_(most) {}
  /// A call begins: whether it is to be kept.
  bool takes() {
    take_back();
    if (left_ > 0) {
      --left_;
      return false;
    }
    find_next(next_);
    return true;
  }
  /// Calls that come before the next one that is kept are made with these, until they are taken back.
  void lend(Lent& to) {
    if (left_ == 0) return;
    to.left = to.lent = left_;
    borrower_ = &to;
  }
  void take_back() {
    if (borrower_ == nullptr) return;
    left_ -= borrower_->made();
    borrower_->before += borrower_->made();
    borrower_->left = borrower_->lent = 0;
    borrower_ = nullptr;
  }
  void add(std::int64_t begin, std::int64_t end, int root, std::uint32_t site);

  /// With those that have been taken back.
  std::uint64_t calls() const { return next_ - 1 - left_; }
  const std::vector<TimedCall>& timed() const { return timed_; }
  /// Keeps no more than these.
  void thin_to(std::size_t most);

 private:
  static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio

  /// After so many calls.
  void find_next(std::uint64_t calls);

  std::uint64_t next_ = 1, left_ = 0;  // the number of the one that is kept next, and calls before it
  std::uint64_t below_ = ~std::uint64_t{0};
  Lent* borrower_ = nullptr;
  std::size_t max_;
  std::vector<TimedCall> timed_;
};

/// Of the blocking calls of one communicator.
class Samples {
 public:
  /// Of all calls of the operation whose parts have so many bytes, rounded down to a power of two; 0: no rank knows them all.
  /// Stays where it is.
  Sample& of(Operation operation, std::size_t bytes) {
    return samples.try_emplace({operation, bytes}, most).first->second;
  }
  /// A call that has to wait for others before it can run has come.
  void come() { came_ = monotonic_ns(); }
  bool has_come() const { return came_ != 0; }
  /// When the call that runs now has come.
  std::int64_t begin() {
    const std::int64_t came = std::exchange(came_, 0);
    return came != 0 ? came : monotonic_ns();
  }
  void forget() { came_ = 0; }  ///< it has nothing to run

  std::size_t most = 0;  ///< see Sample
  std::map<std::pair<Operation, std::size_t>, Sample> samples;

 private:
  std::int64_t came_ = 0;
};

/// Where in the program the call that this thread is in was made, as a number above 0; null: nobody asks.
inline std::uint32_t (*call_site)() = nullptr;

}  // namespace omnes::inline runtime
