// Allreduce in which members exchange all they have along a butterfly: log2(p) rounds, for short messages.
#pragma once

#include "algorithms/folding.hpp"
#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

struct Exchange {
  int member;    ///< the other one
  bool is_left;  ///< whether the other's sum goes to the left: the same on all ranks that combine the same two sums
};

/// At distance 1, 2, 4, ...: combines neighbouring ranges, so keeps the rank order.
Exchange exchange_doubling(int member, int round, int members);

/// The whole allreduce of one block, `own`, among the ranks 0, every, 2 every, ...: `exchange(member, round, members)`
/// says whom a member meets. `own` may be recv.
void allreduce_exchanging(Builder& b, Blocks own, Exchange (*exchange)(int member, int round, int members),
                          int every = 1);

}  // namespace omnes::inline algorithms
