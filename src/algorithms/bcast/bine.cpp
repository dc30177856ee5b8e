// Bcast, Bine tree: ceil(log2(p)) rounds as down a binomial tree, between ranks that are nearer to each other.
#include "algorithms/bine.hpp"
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { bcast_along(b, bine_tree(b.vrank(), b.p()), b.root()); }

const Register registered{{
    .operation = Operation::bcast,
    .name = "bine",
    .summary = "Bine tree, segments pipelined",
    .source = "De Sensi et al. 2025",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
