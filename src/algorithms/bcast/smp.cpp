// Bcast for nodes of k consecutive ranks: down a binomial tree of one rank per node, and from each of these down a
// binomial tree of its node. As few messages as there are nodes but one go from node to node, whatever the root.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { bcast_along(b, smp_tree(b.rank(), b.p(), b.root(), b.problem().radix), 0); }

const Register registered{{
    .operation = Operation::bcast,
    .name = "smp",
    .summary = "among one rank of each k, then among those k, segments pipelined",
    .source = "MPICH (SMP-aware bcast)",
    .build = build,
    .default_radix = 4,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
