// The plans of a team, found by what a call is and by the bytes of its parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/call.hpp"
#include "runtime/prepared.hpp"

namespace omnes::inline runtime {

/// Everything that a plan depends on but its sizes, in one word: it is made and compared in every call. Whether `send` is
/// given (in place or not) differs between ranks and drives no choice.
class Key {
 public:
  Key() = default;
  Key(const Call& call, Form form, bool commutative, Combining combining)
      : what_(static_cast<std::uint64_t>(call.operation) | static_cast<std::uint64_t>(call.in_place) << 8 |
              static_cast<std::uint64_t>(commutative) << 9 | static_cast<std::uint64_t>(combining.kernel) << 10 |
              static_cast<std::uint64_t>(form) << 11 | static_cast<std::uint64_t>(combining.direct) << 13 |
              static_cast<std::uint64_t>(call.root) << 32) {}

  Operation operation() const { return static_cast<Operation>(what_ & 0xFF); }
  bool commutative() const { return what_ >> 9 & 1; }
  Combining combining() const { return {static_cast<bool>(what_ >> 13 & 1), static_cast<bool>(what_ >> 10 & 1)}; }
  Form form() const { return static_cast<Form>(what_ >> 11 & 3); }
  int root() const { return static_cast<int>(what_ >> 32); }

  /// Its upper bits are the best mixed ones.
  std::uint64_t hash() const { return what_ * 0x9E3779B97F4A7C15u; }  // Fibonacci hashing: 2^64 / golden ratio
  bool operator==(const Key&) const = default;

 private:
  std::uint64_t what_ = ~std::uint64_t{0};  // of no call
};

struct KeyHash {
  std::size_t operator()(const Key& key) const { return key.hash() >> 16; }
};

class PlanCache {
 public:
  using Retire = std::function<void(const Key& key, const std::shared_ptr<Prepared>& prepared)>;
  using Make = std::function<std::shared_ptr<Prepared>(ByteRange& sizes)>;
  /// `retire` is called with each plan that is forgotten.
  explicit PlanCache(Retire retire) : retire_(std::move(retire)) {}

  /// Sizes for which one answer holds, with what it came to: of blocking calls one plan, else one for each that was ever
  /// under way at once.
  struct Range {
    ByteRange sizes;
    std::vector<std::shared_ptr<Prepared>> prepared;
  };

  /// The range of calls like this one, with so many bytes to a part. A new one gets what `make` returns, for the sizes that
  /// it says. Once there are too many, all are forgotten first.
  template <class MakeOne>
  Range& find(const Key& key, std::size_t bytes, MakeOne make) {
    Recent* at = &recent_[key.hash() >> (64 - recent_bits)];
    if (at->ranges == nullptr || !(at->key == key)) [[unlikely]] {
      if (ranges_kept_ >= max_ranges) forget();
      *at = {key, &kinds_[key]};
    }
    Ranges& ranges = *at->ranges;
    if (ranges.last < ranges.sorted.size() && ranges.sorted[ranges.last].sizes.contains(bytes)) [[likely]]
      return ranges.sorted[ranges.last];
    return look_up(ranges, bytes, make);
  }
  /// One that no operation holds: its sizes may change.
  static const std::shared_ptr<Prepared>& idle_one(Range& range);
  void forget();
  void for_each(const Retire& see) const;

 private:
  /// Ranges that are kept for one communicator; a program that needs more starts over.
  static constexpr std::size_t max_ranges = 4096;
  static constexpr int recent_bits = 4;  // log2 of how many recent kinds of calls are found by one comparison

  /// The ranges of calls that are alike except for their sizes, by size.
  struct Ranges {
    std::vector<Range> sorted;
    std::size_t last = 0;
  };
  struct Recent {
    Key key{};
    Ranges* ranges = nullptr;
  };
  Range& look_up(Ranges& ranges, std::size_t bytes, const Make& make);

  Retire retire_;
  std::unordered_map<Key, Ranges, KeyHash> kinds_;
  std::size_t ranges_kept_ = 0;
  std::array<Recent, 1 << recent_bits> recent_{};  // in front of `kinds_`: one comparison for what comes again
};

}  // namespace omnes::inline runtime
