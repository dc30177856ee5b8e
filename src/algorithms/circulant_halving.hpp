// Reduce-scatter on circulant graphs, with which reduce_scatter, allreduce and reduce begin: any p in ceil(log2(p))
// rounds.
//
// How. Count parts from the rank's own: part i is that of rank + i; s is circulant_skips(p). A rank holds partial sums
// of parts 0..s[k+1]-1; in round k, it sends those from s[k] on to rank + s[k], where they are parts 0, 1, ..., and
// takes in as many from s[k] below. So it is left with 0..s[k]-1, and at the end with its own. Sums start at different
// ranks: needs a commutative operation.
// Cost. p - 1 parts sent and received per rank, which is optimal, in as many messages as rounds, and one more for each
// round in which the range of parts wraps around at p.
#pragma once

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// Combines one block per rank: `own` and `into` hold p of them. The rank's own one ends in `last`, which may be its
/// place in `into`; `own` may be `into`.
void reduce_scatter_circulant(Builder& b, Blocks own, Blocks into, Blocks last);

}  // namespace omnes::inline algorithms
