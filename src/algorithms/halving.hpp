// Recursive halving on a folded group: the reduce-scatter with which both of Rabenseifner's algorithms begin.
#pragma once

#include "algorithms/folding.hpp"
#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// With the message cut into fold.members pieces: combines all contributions, in rank order, so that each leader
/// holds one piece of the result in `into`, which is the returned range of pieces. The distance doubles from 1, so that
/// members combine neighbouring ranges. A rank that does not lead only hands its contribution over. `own` may be
/// `into`.
Range reduce_scatter_halving(Builder& b, const Folding& fold, Blocks own, Blocks into);

/// The range that the peer at `distance` holds when this member holds `mine`.
Range sibling(int member, int distance, Range mine);
/// Both ranges together.
Range joined(Range a, Range b);

}  // namespace omnes::inline algorithms
