// Gather, linear: everybody sends its part to the root.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  if (b.vrank() != 0) return b.send(b.root(), b.own());
  b.copy(b.own(), b.part(Buffer::recv, b.rank()));
  for (int v = 1; v < b.p(); ++v) b.recv(b.real(v), b.part(Buffer::recv, b.real(v)));
}

const Register registered{{
    .operation = Operation::gather,
    .name = "linear",
    .summary = "everybody sends to the root",
    .source = "MPICH, Open MPI (linear)",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
