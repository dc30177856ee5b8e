// Allreduce, Rabenseifner: recursive halving reduce-scatter, then recursive doubling allgather: two messages of
// traffic, 2 log2(p) rounds.
#include "algorithms/halving.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const Folding fold(b.p());
  b.cut(fold.members);
  const Blocks result = recv_blocks(0, b.pieces());
  const int partner = fold.partner(b.rank()), member = fold.member(b.rank());
  Range mine = reduce_scatter_halving(b, fold, b.own(), result);
  if (!fold.leads(b.rank())) {
    b.recv(partner, result);
    return;
  }
  for (int distance = fold.members / 2; distance > 0; distance /= 2) {
    const int peer = fold.leader(member ^ distance);
    const Range theirs = sibling(member, distance, mine);
    b.send(peer, sub(result, mine.first, mine.count));
    b.recv(peer, sub(result, theirs.first, theirs.count));
    mine = joined(mine, theirs);
  }
  if (partner >= 0) b.send(partner, result);
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "rabenseifner",
    .summary = "recursive halving reduce-scatter, then recursive doubling allgather",
    .source = "Rabenseifner 2004",
    .build = build,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
