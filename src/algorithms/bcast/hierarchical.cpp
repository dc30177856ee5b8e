// Bcast along a hierarchy: from the root to one rank of each of the widest units, from these to one of each smaller
// unit in theirs, and so on. The root represents all units that it is in, so that nothing is forwarded to it first.
#include "algorithms/message_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.down = Operation::bcast};

void build(Builder& b) { MessageLevels(b, phases, b.root()).down(recv_blocks(0, b.pieces())); }

const Register registered{{
    .operation = Operation::bcast,
    .name = "hierarchical",
    .summary = "down the levels of the machine, each with an algorithm of its own, by k leaders of each unit",
    .source = "Kurnosov et al. (coll/tcl); segments through all levels and several leaders are ours",
    .build = build,
    .default_radix = 1,
    .min_radix = 1,
    .segmented = true,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
