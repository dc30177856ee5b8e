// Scan, linear: ranks form a path; each adds its contribution to what comes from below and passes it on.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), segments = b.segments();
  b.cut(segments);
  for (int s = 0; s < segments; ++s) {
    if (rank > 0) b.recv_reduce_first(rank - 1, sub(b.own(), s), recv_blocks(s));
    // Not the first rank's copy: were it read in place, the next call would have to take its lines back.
    if (rank + 1 < p) b.send(rank + 1, rank > 0 ? recv_blocks(s) : sub(b.own(), s));
    if (rank == 0) b.copy(sub(b.own(), s), recv_blocks(s));
  }
}

const Register registered{{
    .operation = Operation::scan,
    .name = "linear",
    .summary = "along a path, segments pipelined",
    .source = "Open MPI (linear)",
    .build = build,
    .segmented = true,
    .ordered = true,
    .from_left = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
