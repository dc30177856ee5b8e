// Bcast, recursive doubling: in round i the 2^i ranks that have the message send it to those at distance 2^i. As many
// rounds as down a binomial tree whose first message goes half way round; here the longest way comes last, and the
// nearest ranks have the message first.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { bcast_along(b, doubling_tree(b.vrank(), b.p()), b.root()); }

const Register registered{{
    .operation = Operation::bcast,
    .name = "recursive_doubling",
    .summary = "binomial tree, nearest ranks first, segments pipelined",
    .source = "binomial tree: Johnsson, Ho 1989",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
