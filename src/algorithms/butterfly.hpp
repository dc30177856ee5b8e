// Reduce-scatter by halving along any butterfly, and its reversal, allgather.
//
// How. Members, a power of two of them, have places 0..members-1, and hold a range of places: all at first. In each
// round a member and its peer hold the same range; each hands over the half that is the other's. At the end it holds
// its own place. What differs between butterflies is who the peers are, and so which places make up a half.
#pragma once

#include <vector>

#include "algorithms/folding.hpp"
#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

struct Butterfly {
  int (*peer)(int member, int round, int members);
  int (*place)(int member, int members);
};

/// Distance members/2, ..., 2, 1: a place is the member's own number.
extern const Butterfly halving_distance;
/// Distance 1, 2, ..., members/2: combines neighbouring ranges, so keeps the rank order. A place is the number with its
/// bits reversed.
extern const Butterfly doubling_distance;
/// swing.hpp's.
extern const Butterfly swing;

/// `starts[place]` is the first block of a place in `own` and `into`, `starts[members]` their end. Called by leaders
/// only; combines all members' `own` so that the member's place holds its blocks of the result, in `last`. `own` may be
/// `into`, and `last` that place in `into`.
void reduce_scatter_butterfly(Builder& b, const Butterfly& butterfly, const Folding& fold,
                              const std::vector<int>& starts, Blocks own, Blocks into, Blocks last);
/// From the member's place in `blocks` to all of them.
void allgather_butterfly(Builder& b, const Butterfly& butterfly, const Folding& fold, const std::vector<int>& starts,
                         Blocks blocks);

/// The whole reduce_scatter, for any p: folded, with the parts copied into the order of places where that is not the
/// order of ranks.
void reduce_scatter_along(Builder& b, const Butterfly& butterfly);
/// The whole allreduce: a reduce-scatter and an allgather, one block per place.
void allreduce_along(Builder& b, const Butterfly& butterfly);

}  // namespace omnes::inline algorithms
