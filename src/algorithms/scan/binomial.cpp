// Scan, binomial: an up sweep, in which sums of 2, 4, 8, ... ranks form, and a down sweep, in which the sums of all
// lower ranks come back: about 2 log2(p) rounds, but fewer than 2p messages and reductions in all. Segments pipelined.
#include "algorithms/registry.hpp"
#include "algorithms/scanning.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(b.segments());
  const Sweeps sweeps(b.rank(), b.p());
  for (int s = 0; s < b.segments(); ++s) {
    const Blocks result = recv_blocks(s);
    Blocks sum = sub(b.own(), s);
    for (const int child : sweeps.below) {
      b.recv_reduce_first(child, sum, result);
      sum = result;
    }
    if (sweeps.up >= 0) b.send(sweeps.up, sum);
    if (sweeps.before >= 0)
      b.recv_reduce_first(sweeps.before, sum, result);
    else
      b.copy(sum, result);
    for (const int next : sweeps.above) b.send(next, result);
  }
}

const Register registered{{
    .operation = Operation::scan,
    .name = "binomial",
    .summary = "an up and a down sweep of a binomial tree, segments pipelined",
    .source = "Brent, Kung 1982; Blelloch 1990",
    .build = build,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
