// Reduce, Rabenseifner: recursive halving reduce-scatter, then a binomial gather: two messages of traffic per rank,
// 2 log2(p) rounds.
//
// How: the ranks fold onto a power of two of members (the root leads its pair). After the halving each member holds
// one piece; then, from the largest distance down, whoever differs from the root in that bit hands all it has to
// its peer and is done.
#include "algorithms/halving.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const Folding fold(b.p(), b.root());
  b.cut(fold.members);
  const bool leads = fold.leads(b.rank());
  Blocks sum = recv_blocks(0, b.pieces());
  if (b.rank() != b.root()) sum = b.temp(leads ? b.pieces() : 0);
  Range mine = reduce_scatter_halving(b, fold, b.own(), sum);
  if (!leads) return;

  const int member = fold.member(b.rank()), root_member = fold.member(b.root());
  for (int distance = fold.members / 2; distance > 0; distance /= 2) {
    const int peer = fold.leader(member ^ distance);
    if (((member ^ root_member) & distance) != 0) {
      b.send(peer, sub(sum, mine.first, mine.count));
      return;
    }
    const Range theirs = sibling(member, distance, mine);
    b.recv(peer, sub(sum, theirs.first, theirs.count));
    mine = joined(mine, theirs);
  }
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "rabenseifner",
    .summary = "recursive halving reduce-scatter, then binomial gather",
    .source = "Rabenseifner 2004",
    .build = build,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
