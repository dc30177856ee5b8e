// Any number of ranks folded onto a power of two, so that halving and doubling serve every p.
//
// The first ranks pair up, (0,1), (2,3), ..., until pairs and single ranks together are a power of two: the
// members. One rank of a pair leads: it first takes in the other's contribution and at the end hands the result
// out. Members stand for consecutive ranges of ranks, in order, so reductions keep the rank order.
#pragma once

#include <bit>

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

struct Folding {
  int members;  ///< largest power of two that is not above p
  int pairs;
  int favourite;  ///< leads its pair; in the other pairs the lower rank does

  explicit Folding(int p, int favoured = 0)
      : members(static_cast<int>(std::bit_floor(static_cast<unsigned>(p)))), pairs(p - members), favourite(favoured) {
    OMNES_ASSERT(p >= 1 && favoured >= 0 && favoured < p);
  }

  int member(int rank) const { return rank < 2 * pairs ? rank / 2 : rank - pairs; }
  int leader(int member) const {
    OMNES_ASSERT(member >= 0 && member < members);
    if (member >= pairs) return member + pairs;
    return favourite / 2 == member ? favourite : 2 * member;
  }
  bool leads(int rank) const { return leader(member(rank)) == rank; }
  /// The other rank of the pair, or -1.
  int partner(int rank) const { return rank < 2 * pairs ? rank ^ 1 : -1; }
};

/// A rank that does not lead only hands its contribution over and gets the result. Returns whether this rank is one.
inline bool only_follows(Builder& b, const Folding& fold, Blocks own, Blocks result) {
  if (fold.leads(b.rank())) return false;
  b.send(fold.partner(b.rank()), own);
  b.recv(fold.partner(b.rank()), result);
  return true;
}

}  // namespace omnes::inline algorithms
