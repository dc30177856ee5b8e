// Allreduce, k-nomial tree: a reduce to rank 0 and a broadcast from there, segment by segment, so that both
// pipelines overlap.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(b.segments());
  const Tree tree = knomial_tree(b.rank(), b.p(), b.problem().radix);
  flow_up(b, tree, b.own(), recv_blocks(0, b.pieces()));
  flow_down(b, tree, 0);
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "knomial",
    .summary = "k-nomial reduce to rank 0, then k-nomial bcast, segments pipelined",
    .source = "Romanyuta, Kurnosov 2023 (k-nomial Reduce, then Bcast)",
    .build = build,
    .default_radix = 2,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
