// Barrier, double ring: a token goes round from rank 0 back to it, which shows that all have entered, and again as far
// as rank p - 1, which tells everybody. 2p - 1 messages, one after the other.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), right = (rank + 1) % p, left = (rank - 1 + p) % p;
  const Blocks token;
  if (p == 1) return;
  for (int lap = 0; lap < 2; ++lap) {
    if (rank > 0) b.recv(left, token);
    b.step();
    if (lap == 0 || right != 0) b.send(right, token);
    if (rank == 0 && lap == 0) b.recv(left, token);
    b.step();
  }
}

const Register registered{{
    .operation = Operation::barrier,
    .name = "ring",
    .summary = "a token goes round twice",
    .source = "Open MPI, double ring",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
