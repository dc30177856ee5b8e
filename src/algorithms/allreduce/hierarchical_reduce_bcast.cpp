// Allreduce along a hierarchy, as a reduce up all levels to one rank, and a bcast from there: fewer messages than an
// allreduce at the widest level, more rounds.
#include "algorithms/message_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::reduce, .down = Operation::bcast};

void build(Builder& b) {
  MessageLevels levels(b, phases);
  const Blocks result = recv_blocks(0, b.pieces());
  levels.up(b.own(), result);
  if (b.p() == 1) b.copy(b.own(), result);
  levels.down(result);
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "hierarchical_reduce_bcast",
    .summary = "reduce up all levels of the machine, then bcast down; by k leaders of each unit",
    .source = "Kurnosov et al. (coll/tcl, ReduceBcast); segments, several leaders and rank order are ours",
    .build = build,
    .default_radix = 1,
    .min_radix = 1,
    .segmented = true,
    .ordered = true,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
