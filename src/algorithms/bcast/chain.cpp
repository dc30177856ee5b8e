// Bcast, chain: every rank passes each segment to the next one. p - 2 + segments rounds, one message in and one out
// per round.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { bcast_along(b, chain_tree(b.vrank(), b.p()), b.root()); }

const Register registered{{
    .operation = Operation::bcast,
    .name = "chain",
    .summary = "each rank forwards to the next, segments pipelined",
    .source = "pipelined linear array: Johnsson, Ho 1989",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
