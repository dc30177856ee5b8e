// Neighbor_alltoall, linear: a message along every edge.
#include "algorithms/neighbors.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) {
  exchange_with_neighbors(b, [&](int port) { return b.part(Buffer::send, port); });
}

const Register registered{{
    .operation = Operation::neighbor_alltoall,
    .name = "linear",
    .summary = "a message along every edge, all at once",
    .source = "MPICH, Open MPI (linear)",
    .build = build,
    .unequal = true,
}};

}  // namespace
}  // namespace omnes::inline algorithms
