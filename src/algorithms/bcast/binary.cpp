// Bcast, binary tree: every rank passes each segment to two children. log2(p) depth, and unlike in a binomial tree
// no rank sends to more than two.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { bcast_along(b, binary_tree(b.vrank(), b.p()), b.root()); }

const Register registered{{
    .operation = Operation::bcast,
    .name = "binary",
    .summary = "complete binary tree, segments pipelined",
    .source = "pipelined binary tree: Johnsson, Ho 1989",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
