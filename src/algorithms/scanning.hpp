// Steps that scan and exscan share.
#pragma once

#include "schedule/builder.hpp"

namespace omnes {

/// recv <- the ranks' `own`, from rank `first` to this one, combined, by passing sums on at distance 1, 2, 4, ...
void scan_doubling(Builder& b, int first, Blocks own);

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

}  // namespace omnes
