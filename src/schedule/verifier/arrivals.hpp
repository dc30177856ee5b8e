// Barrier: which ranks an op knows to have entered, so that no rank leaves before all have.
//
// How. A rank knows itself; what an op knows it passes to the ops that depend on it; a message carries what its sender
// knew when it started. That a send is complete tells nothing about its receiver, because transports may buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/verifier/group.hpp"

namespace omnes::verifier {

class Arrivals {
 public:
  /// Keeps nothing for operations other than barrier.
  explicit Arrivals(const Group& group);
  /// `next` depends on `op`, which is complete.
  void pass(OpId op, OpId next) { merge(op, next); }
  /// A message is delivered.
  void message(OpId sender, OpId receiver) { merge(sender, receiver); }
  /// Whether each rank knows of all in the end.
  std::optional<Finding> check(const Group& group) const;

 private:
  void merge(OpId from, OpId into);

  std::size_t words_ = 0;             // of 64 ranks, for one op
  std::vector<std::uint64_t> known_;  // words_ for each op
};

}  // namespace omnes::verifier
