// Allgather, ring: p - 1 rounds in which everybody passes on to the right the part that it got in the round before.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), segments = b.segments();
  b.cut(segments);
  const int right = (rank + 1) % p, left = (rank - 1 + p) % p;
  for (int round = 0; round < p - 1; ++round) {
    const Blocks outgoing = round == 0 ? b.own() : b.part(Buffer::recv, (rank - round + p) % p);
    const Blocks incoming = b.part(Buffer::recv, (left - round + p) % p);
    for (int s = 0; s < segments; ++s) {
      b.send(right, sub(outgoing, s));
      b.recv(left, sub(incoming, s));
    }
  }
  b.copy(b.own(), b.part(Buffer::recv, rank));
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "ring",
    .summary = "parts travel round the ring, segments pipelined",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .segmented = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
