// Bcast, k-ary tree: every rank passes each segment to the set of its k children. About log_k(p) depth, and unlike in
// a k-nomial tree nobody sends to more than k.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { bcast_along(b, kary_tree(b.vrank(), b.p(), b.problem().radix), b.root()); }

const Register registered{{
    .operation = Operation::bcast,
    .name = "kary",
    .summary = "complete k-ary tree, segments pipelined",
    .source = "binary tree, generalised: Johnsson, Ho 1989",
    .build = build,
    .default_radix = 4,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
