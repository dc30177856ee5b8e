// Gather and scatter, postal tree: inner ranks collect the parts of their subtree and pass them on together, or get them
// together and hand them down. For short parts.
#include "algorithms/registry.hpp"
#include "algorithms/subtrees.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { move_subtrees(b, postal_place(b)); }

const Register registered{{
    .operation = Operation::gather,
    .name = "postal",
    .summary = "tree for messages that take k times as long to arrive as to send, subtrees travel together",
    .source = "Bar-Noy, Kipnis 1994 (the postal model)",
    .build = build,
    .default_radix = 3,
    .min_radix = 1,
    .also = Operation::scatter,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
