// Gather, postal tree: inner ranks collect the parts of their subtree and pass them on together. For short parts.
#include "algorithms/registry.hpp"
#include "algorithms/subtrees.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) {
  const int p = b.p(), k = b.problem().radix;
  const auto subtree = [&](int v) { return Arc{v, postal_extent(v, p, k)}; };
  gather_subtrees(b, place_in(b.vrank(), postal_tree(b.vrank(), p, k), subtree));
}

const Algorithm algorithm{
    .operation = Operation::gather,
    .name = "postal",
    .summary = "tree for messages that take k times as long to arrive as to send, subtrees travel together",
    .source = "Bar-Noy, Kipnis 1994 (the postal model)",
    .build = build,
    .default_radix = 3,
    .min_radix = 1,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes::inline algorithms
