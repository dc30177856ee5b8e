// Alltoall, pairwise: p - 1 rounds with one message in and one out, so that no rank is ever flooded.
#include "algorithms/alltoall/source.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Blocks outgoing = outgoing_parts(b);
  copy_own_part(b);
  for (int i = 1; i < p; ++i) {
    const int to = (rank + i) % p, from = (rank - i + p) % p;
    b.step();
    b.send(to, sub(outgoing, to));
    b.recv(from, b.part(Buffer::recv, from));
  }
}

const Register registered{{
    .operation = Operation::alltoall,
    .name = "pairwise",
    .summary = "one partner to send to and one to receive from per round",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
