// Scatter, linear: the root sends everybody its part.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  if (b.vrank() != 0) return b.recv(b.root(), b.part(Buffer::recv, 0));
  for (int v = 1; v < b.p(); ++v) b.send(b.real(v), b.part(Buffer::send, b.real(v)));
  if (!b.problem().in_place) b.copy(b.part(Buffer::send, b.rank()), b.part(Buffer::recv, 0));
}

const Register registered{{
    .operation = Operation::scatter,
    .name = "linear",
    .summary = "the root sends to everybody",
    .source = "MPICH (linear scatterv), Open MPI (linear)",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
