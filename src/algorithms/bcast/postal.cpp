// Bcast, postal tree: every rank passes each segment on for as long as others have not got it. The tree for short
// messages, which take k times as long to arrive as to send.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { bcast_along(b, postal_tree(b.vrank(), b.p(), b.problem().radix), b.root()); }

const Register registered{{
    .operation = Operation::bcast,
    .name = "postal",
    .summary = "tree for messages that take k times as long to arrive as to send, segments pipelined",
    .source = "Bar-Noy, Kipnis 1994 (the postal model)",
    .build = build,
    .default_radix = 3,
    .min_radix = 1,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
