// Binomial trees of all ranks at once, aggregated: the farthest transfers carry the least data.
//
// How. In a reduce-scatter, the sum for rank t gathers along a binomial tree over the ranks t, t + 1, ..., t + p - 1
// (modulo p): whoever has offset v in it receives from offsets v + 1, v + 2, v + 4, ..., below v's lowest set bit d,
// and sends to v - d. Each rank has a different offset in each tree; in the round at distance d, all parts for which
// its offset has d as lowest bit go to one rank, d below. Rounds go from the shortest distance to the longest, in which
// one part is left.
// An allgather runs the same trees backwards. Any p; ceil(log2(p)) rounds, p - 1 parts sent per rank.
// Parts lie in the order of offsets with their bits reversed, so that the parts of a round are a range. For p not a
// power of two, the ranks that receive may have one offset in between that has no counterpart: the message is two runs.
// Source: Jeaugey 2025, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale". PAT also bounds
// the buffers, by running fewer trees at a time; here all run at once.
#pragma once

#include <vector>

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// The parts of a rank in order: place i is for the part of the returned rank. Place 0 is its own.
std::vector<std::int32_t> pat_parts(int rank, int p);

/// `sums` holds the rank's contributions in that order; its own part's sum ends in `last`, which may be place 0.
/// Needs a commutative operation.
void reduce_scatter_pat(Builder& b, Blocks sums, Blocks last);
/// From place 0 to all places.
void allgather_pat(Builder& b, Blocks parts);

}  // namespace omnes::inline algorithms
