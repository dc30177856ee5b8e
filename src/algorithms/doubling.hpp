// Allreduce in which members exchange all they have along a butterfly: log2(p) rounds, for short messages.
#pragma once

#include "algorithms/folding.hpp"
#include "schedule/builder.hpp"

namespace omnes {

struct Exchange {
  int member;    ///< the other one
  bool is_left;  ///< whether the other's sum goes to the left: the same on all ranks that combine the same two sums
};

/// The whole allreduce of one block: `exchange(member, round, members)` says whom a member meets.
void allreduce_exchanging(Builder& b, Exchange (*exchange)(int member, int round, int members));

}  // namespace omnes
