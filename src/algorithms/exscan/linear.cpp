// Exscan, linear: ranks form a path; each receives the sum of those below, and passes it on with its own contribution added.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), segments = b.segments();
  b.cut(segments);
  const bool passes_on = rank > 0 && rank + 1 < p;
  const Blocks sums = b.temp(passes_on ? segments : 0);
  // In place, the contribution is where the result goes.
  const Blocks kept = b.temp(passes_on && b.problem().in_place ? segments : 0);
  for (int s = 0; s < segments; ++s) {
    const Blocks own = sub(b.own(), s);
    if (rank == 0) {
      if (p > 1) b.send(1, own);
      continue;
    }
    if (kept.count > 0) b.copy(own, sub(kept, s));
    b.recv(rank - 1, recv_blocks(s));
    if (!passes_on) continue;
    b.reduce(recv_blocks(s), kept.count > 0 ? sub(kept, s) : own, sub(sums, s));
    b.send(rank + 1, sub(sums, s));
  }
}

const Register registered{{
    .operation = Operation::exscan,
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
