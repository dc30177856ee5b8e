// Reduce, chain: two pipelines, from rank 0 up and from rank p-1 down, meet at the root: rank order without
// forwarding, and half the depth when the root is in the middle.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { reduce_along(b, in_order_chain_tree(b.rank(), b.p(), b.root())); }

const Register registered{{
    .operation = Operation::reduce,
    .name = "chain",
    .summary = "two chains that meet at the root, segments pipelined",
    .source = "pipelined linear array: Johnsson, Ho 1989",
    .build = build,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
