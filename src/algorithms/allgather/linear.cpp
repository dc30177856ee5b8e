// Allgather, linear: everybody publishes its part and reads all others. One round.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  b.publish(b.own());
  b.copy(b.own(), b.part(Buffer::recv, rank));
  for (int i = 1; i < p; ++i) {
    const int from = (rank + i) % p;
    b.recv_published(from, b.part(Buffer::recv, from));
  }
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "linear",
    .summary = "everybody publishes, everybody reads",
    .source = "Romanyuta, Kurnosov 2023 (flat Bcast from every rank)",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
