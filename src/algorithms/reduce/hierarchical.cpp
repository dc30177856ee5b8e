// Reduce along a hierarchy: in each unit of the nearest level to one of its ranks, among these in each unit of the
// next, and so on. The root represents all units that it is in.
#include "algorithms/message_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::reduce};

void build(Builder& b) {
  MessageLevels levels(b, phases, b.root());
  const bool at_root = b.rank() == b.root();
  const Blocks sum = at_root ? recv_blocks(0, b.pieces()) : b.temp(levels.leads() ? b.pieces() : 0);
  levels.up(b.own(), sum);
  if (b.p() == 1) b.copy(b.own(), sum);
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "hierarchical",
    .summary = "up the levels of the machine, each with an algorithm of its own, by k leaders of each unit",
    .source = "Kurnosov et al. (coll/tcl); segments through all levels, several leaders and rank order are ours",
    .build = build,
    .default_radix = 1,
    .min_radix = 1,
    .segmented = true,
    .ordered = true,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
