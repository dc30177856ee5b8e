// Any number of ranks as digits of small radices, so that exchanges among k ranks serve every p.
#pragma once

#include <vector>

#include "algorithms/folding.hpp"

namespace omnes::inline algorithms {

/// Members are numbered with one digit per radix, the first radix being the lowest digit; there are as many members as
/// fit below p with radices of at most k, never fewer than p/2. The other ranks are folded onto members.
struct MixedRadix {
  std::vector<int> radices;
  Folding fold;

  MixedRadix(int p, int k);
  /// The first of the ranks that a member stands for; of one past the last member: p.
  int first_rank(int member) const { return member + (member < fold.pairs ? member : fold.pairs); }
};

}  // namespace omnes::inline algorithms
