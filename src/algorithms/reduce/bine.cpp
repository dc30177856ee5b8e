// Reduce, Bine tree: log2(p) rounds in which ranks meet at distances 1, 1, 3, 5, 11, ... from each other, the closest
// first, so that fewer and fewer messages go farther and farther, but less far than in a binomial tree. Segments
// pipelined.
//
// How: counted from the root, the ranks fold onto a power of two of members. The root's place is 0, and in round r all
// that still hold a sum have places whose highest r bits are 0 (swing.hpp): who has a 1 in the next hands its sum over.
// Needs a commutative operation.
#include "algorithms/folding.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/swing.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(b.segments());
  const Folding fold(b.p());
  const int v = b.vrank(), partner = fold.partner(v), member = fold.member(v);
  std::vector<int> children;
  int parent = -1;
  if (!fold.leads(v)) {
    parent = b.real(partner);
  } else {
    if (partner >= 0) children.push_back(b.real(partner));
    const int place = swing_place(member, fold.members);
    for (int bit = fold.members / 2, round = 0; bit > 0 && parent < 0; bit /= 2, ++round) {
      const int peer = b.real(fold.leader(alternating_partner(member, round, fold.members)));
      if ((place & bit) != 0)
        parent = peer;
      else
        children.push_back(peer);
    }
  }

  Blocks sums = recv_blocks(0, b.pieces());
  if (v != 0) sums = b.temp(children.empty() ? 0 : b.pieces());
  for (int s = 0; s < b.pieces(); ++s) {
    Blocks sum = sub(b.own(), s);
    for (const int child : children) {
      b.recv_reduce(child, sum, sub(sums, s));
      sum = sub(sums, s);
    }
    if (parent >= 0)
      b.send(parent, sum);
    else
      b.copy(sum, sub(sums, s));
  }
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "bine",
    .summary = "binomial tree with distances 1, 1, 3, 5, 11, ..., segments pipelined",
    .source = "De Sensi et al. 2025 (Bine trees)",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
