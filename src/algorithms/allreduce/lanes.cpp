// Allreduce along lanes: a reduce_scatter in each unit, level by level; an allreduce of every slice among the ranks that
// hold it; and allgathers back. All ranks of a node exchange messages with other nodes, each of its own slice.
#include "algorithms/lanes.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{
    .up = Operation::reduce_scatter_block, .top = Operation::allreduce, .down = Operation::allgather};

void build(Builder& b) {
  LaneMessage message(b, Operation::allreduce);
  const Blocks result = recv_blocks(0, b.pieces());
  message.reduce_scatter(b.own());
  message.across(Operation::allreduce, result);
  message.allgather(result, result);
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "lanes",
    .summary = "reduce_scatter in each unit, allreduces of the slices among corresponding ranks, allgather",
    .source = "Träff, Hunold 2020 (multi-lane collectives); any levels and algorithms, and segments, are ours",
    .build = build,
    .segmented = true,
    .ordered = true,
    .hierarchical = phases,
    .uniform = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
