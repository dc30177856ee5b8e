// Exscan for nodes of k consecutive ranks: contributions move up by one rank, then scans among the ranks of each node,
// and one among the nodes' last ranks.
#include "algorithms/registry.hpp"
#include "algorithms/scanning.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const Blocks received = shift_up(b);
  if (b.rank() > 0) scan_grouped(b, 1, b.problem().radix, received);
}

const Register registered{{
    .operation = Operation::exscan,
    .name = "smp",
    .summary = "contributions move up by one rank, then scans among k ranks each and the last of each k",
    .source = "Intel MPI (SMP); as a shift and a scan here",
    .build = build,
    .default_radix = 4,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
