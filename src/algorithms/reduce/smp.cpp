// Reduce for nodes of k consecutive ranks: up a binomial tree of each node to its first rank, then up a binomial tree
// of these to rank 0, which forwards to the root. Nodes are ranges of ranks, so the operand order holds.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { reduce_along(b, smp_tree(b.rank(), b.p(), 0, b.problem().radix)); }

const Register registered{{
    .operation = Operation::reduce,
    .name = "smp",
    .summary = "among k ranks each, then among one of each k, segments pipelined",
    .source = "MPICH (SMP-aware reduce); in rank order here",
    .build = build,
    .default_radix = 4,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
