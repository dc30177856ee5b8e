// Symbolic values: a block of one rank's contribution, or two values combined. Equal values have equal numbers.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/contract.hpp"

namespace omnes::verifier {

using Value = std::int32_t;
inline constexpr Value unwritten = -1;

class Values {
 public:
  /// `blocks`: of one rank's contribution.
  Values(int p, int blocks) : blocks_(blocks), moved_(p * blocks) {}

  Value moved(Origin origin) const { return origin.rank * blocks_ + origin.block; }
  /// The value left ∘ right; the same number for the same operands.
  Value combined(Value left, Value right);

  /// The contributions in a value, counted with repetition, without listing them: there may be very many.
  std::uint64_t terms(Value value) const { return is_moved(value) ? 1 : pairs_[value - moved_].terms; }
  /// The contributions in operand order. Only for values of few terms.
  std::vector<Origin> operands(Value value) const;
  /// Whether it is ((x . y) . z) ..., one contribution after the other.
  bool from_left(Value value) const;
  /// "block 3 of rank 1"; a combination by its ranks: "(0 . (1 . 2))".
  std::string to_text(Value value) const;

 private:
  struct Pair {
    Value left, right;
    std::uint64_t terms;
  };
  bool is_moved(Value value) const { return value < moved_; }
  Origin origin(Value value) const { return {value / blocks_, value % blocks_}; }
  std::string expression(Value value) const;

  int blocks_;
  Value moved_;  // numbers below are contributions, from here on pairs
  std::vector<Pair> pairs_;
  std::unordered_map<std::uint64_t, Value> known_;
};

}  // namespace omnes::verifier
