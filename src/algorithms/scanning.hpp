// Steps that scan and exscan share.
#pragma once

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// The ranks first, first + stride, first + 2 stride, ... below `end`.
struct Line {
  int first, end;
  int stride = 1;
};

/// On the line's ranks: recv <- their `own`, from `first` to this rank, combined, by passing sums on at distance 1, 2,
/// 4, ... along the line. `own` may be recv.
void scan_doubling(Builder& b, Line line, Blocks own);

/// The same for the ranks from `first`, which is 0 or 1, to p - 1, in groups of k >= 2 consecutive ranks: each group
/// scans, then the groups' last ranks, which pass the sums of all lower groups on to the first rank of the next group,
/// and that one to its group.
void scan_grouped(Builder& b, int first, int k, Blocks own);

/// Every rank passes its contribution to the next one. Returns where that of the rank below is; rank 0 gets none.
Blocks shift_up(Builder& b);

/// A rank's neighbours in the two sweeps of a scan: with d the lowest set bit of rank + 1, the sum of d ranks that ends
/// here is combined from those that end `below`, and goes `up` to be part of the next larger one. Then the sum of all
/// ranks up to `before` arrives, completes this rank's, and that goes to the ranks `above`.
struct Sweeps {
  std::vector<int> below;  ///< ascending distance: rank - 1, rank - 2, rank - 4, ...
  int up = -1;             ///< -1: beyond the last rank
  int before = -1;         ///< -1: the sum here is complete
  std::vector<int> above;  ///< descending distance

  Sweeps(int rank, int p);
};

}  // namespace omnes::inline algorithms
