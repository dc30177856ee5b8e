// Regular traffic: where every rank does the same as seen from itself, the best groups have a closed form.
//
// Overview. In most algorithms without a root all ranks send the same amounts to the same offsets: to rank + d modulo p
// (dissemination, Bruck, ring, pairwise: a rotation), to rank xor d (recursive doubling and halving: exclusive or), or,
// by turns, even ranks to rank + d and odd ones to rank - d (Swing, Bine, neighbor exchange: an alternation). Then a
// tile, one set of ranks of which shifted copies cover all, is all there is to find: its copies are the groups, all
// equally good.
// How. Ranks are written in mixed radix, with the prime factors of p in some order as bases. A tile is a choice of digits whose
// bases multiply to the group's size: the ranks that have 0 in all others. The top digits give {0, p/s, 2p/s ...}, the lowest
// give {0 .. s-1}; both, and all between, are compared by the weight that stays inside. Groups of a nearer level are a choice
// among the digits of the wider one.
// Why it is right. Digits in their places add up without carry, so the tile shifted by the ranks with 0 in the chosen
// digits covers each rank once; and the symmetries keep all weights. For alternations the lowest digit must be the
// parity: where a tile has it, its copies are shifted by even distances; where not, the copies at odd ones see d
// mirrored, and a pair within the tile counts from either end.
// Cost. O(p * offsets) to see the symmetry, or that of a sample; tiles are compared in O(size * offsets) each. No graph is needed.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "mapping/traffic.hpp"

namespace omnes::mapping {

enum class Symmetry { none, rotation, exclusive_or, alternation };
const char* name(Symmetry symmetry);

struct Pattern {
  Symmetry symmetry = Symmetry::none;
  int p = 0;
  Row offsets;  ///< what each rank sends: (offset, amount)
  /// The rank at this offset from another.
  std::int32_t shifted(std::int32_t rank, std::int32_t offset) const {
    if (symmetry == Symmetry::exclusive_or) return rank ^ offset;
    if (symmetry == Symmetry::alternation && rank % 2 != 0) offset = p - offset;
    return static_cast<std::int32_t>((static_cast<std::int64_t>(rank) + offset) % p);
  }
};

/// Looks at the rows of `ranks`, which begin with 0; at the first that differs it stops.
Pattern pattern_of(int p, std::span<const std::int32_t> ranks, const std::function<Row(int rank)>& row);
/// All rows.
Pattern pattern_of(const Traffic& traffic);
/// About so many ranks to judge all p by: the first four, the last, and others all over the group, odd and even; at most p. A mapping found so is
/// right whatever the others do, but might not be the cheapest.
std::vector<std::int32_t> sample_of(int p, int about);

/// For groups of sizes[0] ranks in groups of sizes[1] and so on, each a multiple of the one before: all ranks in an order in which
/// consecutive ones belong together at each level. Empty where p has no factors that make up the sizes.
std::vector<std::int32_t> grouped(const Pattern& pattern, std::span<const std::int32_t> sizes);

}  // namespace omnes::mapping
