// Scatter, postal tree: every inner rank gets the parts of its whole subtree and hands them down. For short parts.
#include "algorithms/registry.hpp"
#include "algorithms/subtrees.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) { scatter_subtrees(b, postal_place(b)); }

const Register registered{{
    .operation = Operation::scatter,
    .name = "postal",
    .summary = "tree for messages that take k times as long to arrive as to send, subtrees travel together",
    .source = "Bar-Noy, Kipnis 1994 (the postal model)",
    .build = build,
    .default_radix = 3,
    .min_radix = 1,
}};

}  // namespace
}  // namespace omnes::inline algorithms
