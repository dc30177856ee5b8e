// Allreduce, ring: two messages of traffic per rank in 2(p - 1) rounds, all with the same neighbours: for long
// messages.
//
// How: slice j (1/p of the message) starts at rank j and travels to the right, every rank combining its own
// contribution into it; after p - 1 rounds it is complete at rank j - 1, and travels p - 1 rounds more so that all
// see it. The order starts at j: needs a commutative operation.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), segments = b.segments();
  b.cut(p * segments);
  const Blocks result = recv_blocks(0, b.pieces());
  const int right = (rank + 1) % p, left = (rank - 1 + p) % p;
  if (p == 1) b.copy(b.own(), result);

  for (int round = 0; round < 2 * (p - 1); ++round) {
    const bool combining = round < p - 1;
    const int outgoing = (rank - round + 2 * p) % p, incoming = (left - round + 2 * p) % p;
    for (int s = 0; s < segments; ++s) {
      const int out = outgoing * segments + s, in = incoming * segments + s;
      b.send(right, sub(round == 0 ? b.own() : result, out));
      if (combining)
        b.recv_reduce(left, sub(b.own(), in), sub(result, in));
      else
        b.recv(left, sub(result, in));
    }
  }
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "ring",
    .summary = "ring reduce-scatter, then ring allgather, segments pipelined",
    .source = "Patarasuk, Yuan 2009",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
