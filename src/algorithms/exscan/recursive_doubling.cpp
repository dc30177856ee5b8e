// Exscan, recursive doubling: every rank passes its contribution to the next one; then the ranks from 1 on scan what
// they have received: 1 + ceil(log2(p - 1)) rounds.
#include "algorithms/registry.hpp"
#include "algorithms/scanning.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Blocks received = b.temp(rank > 0 ? 1 : 0);
  if (rank + 1 < p) b.send(rank + 1, b.own());
  if (rank == 0) return;
  b.recv(rank - 1, received);
  scan_doubling(b, {1, p}, received);
}

const Algorithm algorithm{
    .operation = Operation::exscan,
    .name = "recursive_doubling",
    .summary = "contributions move up by one rank, then a scan at doubling distance",
    .source = "shift, then scan: as described by Träff 2025",
    .build = build,
    .ordered = true,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes::inline algorithms
