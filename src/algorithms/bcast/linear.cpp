// Bcast, linear: the root publishes the message and everybody reads it: one copy in, one round.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(b.segments());
  for (int s = 0; s < b.pieces(); ++s) {
    if (b.vrank() == 0)
      b.publish(recv_blocks(s));
    else
      b.recv_published(b.root(), recv_blocks(s));
  }
}

const Register registered{{
    .operation = Operation::bcast,
    .name = "linear",
    .summary = "the root publishes, all others read",
    .source = "Romanyuta, Kurnosov 2023 (flat Bcast)",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
