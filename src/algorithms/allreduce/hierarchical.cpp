// Allreduce along a hierarchy: a reduce in the groups of all levels but the last, an allreduce in the last, and bcasts
// down again. With k leaders, each of k ranks of a unit does this for one slice of the message, so that all of them
// exchange messages with other units.
#include "algorithms/message_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::reduce, .top = Operation::allreduce, .down = Operation::bcast};

void build(Builder& b) {
  MessageLevels levels(b, phases);
  const Blocks result = recv_blocks(0, b.pieces());
  levels.up(b.own(), result);
  levels.across(result);
  levels.down(result);
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "hierarchical",
    .summary = "reduce up the levels of the machine, allreduce in the widest, bcast down; by k leaders of each unit",
    .source = "Kurnosov et al. (coll/tcl, ReduceAllreduceBcast); segments, several leaders and rank order are ours",
    .build = build,
    .default_radix = 1,
    .min_radix = 1,
    .segmented = true,
    .ordered = true,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
