// Reduce, postal tree, which is bcast's turned round: for short messages. Rooted at rank 0, whatever the root, so that
// subtrees are ranges of ranks and the operand order holds; rank 0 forwards the segments to the root.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { reduce_along(b, postal_tree(b.rank(), b.p(), b.problem().radix)); }

const Register registered{{
    .operation = Operation::reduce,
    .name = "postal",
    .summary = "tree for messages that take k times as long to arrive as to send, forwarded to the root",
    .source = "Bar-Noy, Kipnis 1994 (the postal model)",
    .build = build,
    .default_radix = 3,
    .min_radix = 1,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
