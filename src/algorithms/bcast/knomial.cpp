// Bcast, k-nomial tree: every rank passes each segment to the set of its children. About log_k(p) rounds.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { bcast_along(b, knomial_tree(b.vrank(), b.p(), b.problem().radix), b.root()); }

const Register registered{{
    .operation = Operation::bcast,
    .name = "knomial",
    .summary = "k-nomial tree, segments pipelined",
    .source = "binomial tree, generalised: Romanyuta, Kurnosov 2023",
    .build = build,
    .default_radix = 2,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
