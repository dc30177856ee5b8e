// Reduce, k-nomial tree: about log_k(p) rounds. The tree is rooted at rank 0, whatever the root, so that subtrees
// are ranges of ranks and the operand order holds; rank 0 forwards the segments to the root.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { reduce_along(b, knomial_tree(b.rank(), b.p(), b.problem().radix)); }

const Register registered{{
    .operation = Operation::reduce,
    .name = "knomial",
    .summary = "k-nomial tree to rank 0, forwarded to the root, segments pipelined",
    .source = "Romanyuta, Kurnosov 2023 (k-nomial Reduce)",
    .build = build,
    .default_radix = 2,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
