// Barrier, all to all: everybody publishes a token and waits for all others' tokens. One round.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const Blocks token;
  b.publish(token);
  for (int i = 1; i < b.p(); ++i) b.recv_published((b.rank() + i) % b.p(), token);
}

const Register registered{{
    .operation = Operation::barrier,
    .name = "all_to_all",
    .summary = "everybody publishes a token and waits for all others",
    .source = "folklore; one store and p - 1 loads per rank in shared memory",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
