// Scan for nodes of k consecutive ranks: among the ranks of each node, then among the nodes' last ranks, the sums of
// which the next node adds to its own.
#include "algorithms/registry.hpp"
#include "algorithms/scanning.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { scan_grouped(b, 0, b.problem().radix, b.own()); }

const Register registered{{
    .operation = Operation::scan,
    .name = "smp",
    .summary = "scans among k ranks each, then one among the last of each k",
    .source = "MPICH (SMP-aware scan); from last rank to first here",
    .build = build,
    .default_radix = 4,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
