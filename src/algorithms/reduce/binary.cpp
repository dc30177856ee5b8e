// Reduce, in-order binary tree: rooted at the root itself, with lower ranks to the left and higher ranks to the
// right of every rank, so the operand order holds without forwarding. At most two messages in and one out per
// segment: pipelines well.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { reduce_along(b, in_order_binary_tree(b.rank(), b.p(), b.root())); }

const Register registered{{
    .operation = Operation::reduce,
    .name = "binary",
    .summary = "in-order binary tree, segments pipelined",
    .source = "Sanders, Speck, Träff 2009 (in-order pipelined binary tree)",
    .build = build,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
