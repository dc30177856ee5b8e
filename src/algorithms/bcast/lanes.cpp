// Bcast along lanes: the root scatters the message in its own unit, every slice goes to the ranks that correspond to
// each other, and each unit puts the slices together. So all ranks of the root's node send out of it.
#include "algorithms/lanes.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::scatter, .top = Operation::bcast, .down = Operation::allgather};

void build(Builder& b) {
  LaneMessage message(b, Operation::bcast);
  const Blocks all = recv_blocks(0, b.pieces());
  const Blocks into = b.rank() == b.root() ? b.temp(b.pieces()) : all;  // the root's own is not written to
  message.scatter();
  message.across(Operation::bcast, all);
  message.allgather(all, into);
}

const Register registered{{
    .operation = Operation::bcast,
    .name = "lanes",
    .summary = "scatter in the root's unit, bcasts of the slices among corresponding ranks, allgather in each unit",
    .source = "Träff, Hunold 2020 (multi-lane collectives); any levels and algorithms, and segments, are ours",
    .build = build,
    .segmented = true,
    .hierarchical = phases,
    .uniform = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
