// Allgather, neighbor exchange: p/2 rounds for even p, in which everybody exchanges with its two neighbours in turn.
//
// How. Ranks 2j and 2j + 1 first exchange their parts; from then on the unit is the pair of parts. In each further
// round a rank gives the neighbour whose turn it is the pair that it got in the round before. So pairs come from below
// and above in turn, from ever farther away: an even rank of pair j gets j, j-1, j+1, j-2, j+2 ..., an odd one the
// mirror image.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

/// The pair of ranks whose parts the rank gets in round i >= 1; in round 0 its own pair becomes complete.
int pair_got(int rank, int i, int p) {
  const int pairs = p / 2, offset = (i + 1) / 2;
  const bool from_below = (i % 2 == 1) == (rank % 2 == 0);
  return (rank / 2 + (from_below ? -offset : offset) + pairs) % pairs;
}

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const auto pair = [&](int j) { return b.part(Buffer::recv, 2 * j, 2); };
  for (int i = 0; i < p / 2; ++i) {
    const bool right = (i % 2 == 0) == (rank % 2 == 0);
    const int peer = (rank + (right ? 1 : p - 1)) % p;
    b.send(peer, i == 0 ? b.own() : pair(pair_got(rank, i - 1, p)));
    if (i == 0) b.copy(b.own(), b.part(Buffer::recv, rank));
    b.recv(peer, i == 0 ? b.part(Buffer::recv, peer) : pair(pair_got(rank, i, p)));
  }
  if (p == 1) b.copy(b.own(), b.part(Buffer::recv, 0));
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "neighbor_exchange",
    .summary = "both neighbours on the ring in turn, two parts per message",
    .source = "Chen, Zhang, Zhang, Yuan 2005",
    .build = build,
    .even = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
