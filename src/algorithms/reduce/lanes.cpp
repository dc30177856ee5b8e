// Reduce along lanes: a reduce_scatter in each unit, reduces of every slice among the ranks that hold it to those of the
// root's unit, and a gather there.
#include "algorithms/lanes.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::reduce_scatter_block, .top = Operation::reduce, .down = Operation::gather};

void build(Builder& b) {
  LaneMessage message(b, Operation::reduce);
  const MultiLane& lanes = message.lanes();
  const bool in_root_unit = lanes.group(lanes.last()).self == lanes.root(lanes.last());
  const Blocks result = b.rank() == b.root() ? recv_blocks(0, b.pieces()) : b.temp(in_root_unit ? b.pieces() : 0);
  message.reduce_scatter(b.own());
  message.across(Operation::reduce, result);
  message.gather(result);
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "lanes",
    .summary =
        "reduce_scatter in each unit, reduces of the slices among corresponding ranks, gather in the root's unit",
    .source = "Träff, Hunold 2020 (multi-lane collectives); any levels and algorithms, and segments, are ours",
    .build = build,
    .segmented = true,
    .ordered = true,
    .hierarchical = phases,
    .uniform = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
