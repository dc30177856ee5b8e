// Exscan for nodes of k consecutive ranks: contributions move up by one rank, then scans among the ranks of each node,
// and one among the nodes' last ranks.
#include "algorithms/registry.hpp"
#include "algorithms/scanning.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) {
  const int rank = b.rank();
  const Blocks received = b.temp(rank > 0 ? 1 : 0);
  if (rank + 1 < b.p()) b.send(rank + 1, b.own());
  if (rank == 0) return;
  b.recv(rank - 1, received);
  scan_grouped(b, 1, b.problem().radix, received);
}

const Algorithm algorithm{
    .operation = Operation::exscan,
    .name = "smp",
    .summary = "contributions move up by one rank, then scans among k ranks each and the last of each k",
    .source = "Intel MPI (SMP); as a shift and a scan here",
    .build = build,
    .default_radix = 4,
    .ordered = true,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes::inline algorithms
