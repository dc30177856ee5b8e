// Exscan, recursive doubling: every rank passes its contribution to the next one; then all ranks except 0 scan what
// they have received: 1 + ceil(log2(p - 1)) rounds.
#include "algorithms/registry.hpp"
#include "algorithms/scanning.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const Blocks received = shift_up(b);
  if (b.rank() > 0) scan_doubling(b, {1, b.p()}, received);
}

const Register registered{{
    .operation = Operation::exscan,
    .name = "recursive_doubling",
    .summary = "contributions move up by one rank, then a scan at doubling distance",
    .source = "shift, then scan: as described by Träff 2025",
    .build = build,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
