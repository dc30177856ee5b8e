// Exscan, binomial: scan's two sweeps, with the own contribution kept apart from the sum of lower ranks until others
// need both. Segments pipelined.
#include "algorithms/registry.hpp"
#include "algorithms/scanning.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int segments = b.segments();
  b.cut(segments);
  const Sweeps sweeps(b.rank(), b.p());
  // The sum that goes up also goes to the ranks above, where it is complete.
  const bool used = sweeps.up >= 0 || (sweeps.before < 0 && !sweeps.above.empty());
  const bool sums_up = used && !sweeps.below.empty(), sums_down = sweeps.before >= 0 && !sweeps.above.empty();
  const Blocks up = b.temp(sums_up ? segments : 0), down = b.temp(sums_down ? segments : 0);
  // In place, the contribution is where the sum of lower ranks goes.
  const bool moves = b.problem().in_place && b.rank() > 0;
  const Blocks kept = b.temp(moves ? segments : 0);

  for (int s = 0; s < segments; ++s) {
    const Blocks result = recv_blocks(s);
    Blocks own = sub(b.own(), s);
    if (moves) {
      b.copy(own, sub(kept, s));
      own = sub(kept, s);
    }
    bool lower = false;  // whether `result` holds a sum of lower ranks yet
    for (const int child : sweeps.below) {
      if (lower)
        b.recv_reduce_first(child, result, result);
      else
        b.recv(child, result);
      lower = true;
    }
    Blocks with_own = own;
    if (sums_up) b.reduce(result, own, with_own = sub(up, s));
    if (sweeps.up >= 0) b.send(sweeps.up, with_own);
    if (sweeps.before >= 0) {
      if (lower)
        b.recv_reduce_first(sweeps.before, result, result);
      else
        b.recv(sweeps.before, result);
    }
    if (sums_down) b.reduce(result, own, with_own = sub(down, s));
    for (const int next : sweeps.above) b.send(next, with_own);
  }
}

const Register registered{{
    .operation = Operation::exscan,
    .name = "binomial",
    .summary = "an up and a down sweep of a binomial tree, segments pipelined",
    .source = "Brent, Kung 1982; Blelloch 1990",
    .build = build,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
