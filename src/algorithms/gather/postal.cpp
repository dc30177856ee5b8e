// Gather, postal tree: inner ranks collect the parts of their subtree and pass them on together. For short parts.
#include "algorithms/registry.hpp"
#include "algorithms/subtrees.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) { gather_subtrees(b, postal_place(b)); }

const Register registered{{
    .operation = Operation::gather,
    .name = "postal",
    .summary = "tree for messages that take k times as long to arrive as to send, subtrees travel together",
    .source = "Bar-Noy, Kipnis 1994 (the postal model)",
    .build = build,
    .default_radix = 3,
    .min_radix = 1,
}};

}  // namespace
}  // namespace omnes::inline algorithms
