// Reduce_scatter, pairwise: p - 1 rounds; in round i every rank sends the part of the rank i above, and combines what
// comes from i below. One message in and one out per round, nothing is forwarded; the order starts at the rank: needs a
// commutative operation.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  Blocks sum = b.part(Buffer::send, rank);
  for (int i = 1; i < p; ++i) {
    const int to = (rank + i) % p, from = (rank - i + p) % p;
    b.step();
    b.send(to, b.part(Buffer::send, to));
    b.recv_reduce(from, sum, recv_blocks(0));
    sum = recv_blocks(0);
  }
  b.copy(sum, recv_blocks(0));
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "pairwise",
    .summary = "one partner to send to and one to receive from per round",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
