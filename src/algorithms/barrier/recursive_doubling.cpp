// Barrier, recursive doubling: ranks at distance 1, 2, 4, ... exchange tokens; ranks beyond a power of two report
// to their pair's leader and wait for it.
#include "algorithms/folding.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const Folding fold(b.p());
  const int partner = fold.partner(b.rank()), member = fold.member(b.rank());
  const Blocks token;
  if (only_follows(b, fold, token, token)) return;
  if (partner >= 0) b.recv(partner, token);
  for (int distance = 1; distance < fold.members; distance *= 2) {
    const int peer = fold.leader(member ^ distance);
    b.step();
    b.send(peer, token);
    b.recv(peer, token);
  }
  b.step();
  if (partner >= 0) b.send(partner, token);
}

const Register registered{{
    .operation = Operation::barrier,
    .name = "recursive_doubling",
    .summary = "pairs at doubling distance exchange tokens",
    .source = "butterfly barrier: Brooks 1986; folded as in Thakur, Rabenseifner, Gropp 2005",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
