// Allgather along lanes: each rank collects the parts of the ranks that correspond to it in all of the widest units, then
// those of the next level's exchange what they have. So a node receives each part once, by as many ranks as it has.
#include "algorithms/lanes.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.top = Operation::allgather, .down = Operation::allgather};

void build(Builder& b) {
  MultiLane lanes(b);
  LaneTable rows(b, *b.problem().hierarchy);
  const Blocks table = rows.table_of(Buffer::recv, false);
  for (std::size_t level = lanes.last() + 1; level-- > 0;) {
    const Blocks all = lanes.slice(table, level), mine = lanes.slice(table, level + 1);
    const bool first = level == lanes.last();
    lanes.run(Operation::allgather, level, !first || b.own() == mine, first ? b.own() : mine, all,
              all.first - table.first, [&](int row) { return rows.like(row); });
  }
  rows.unpack(table, Buffer::recv);
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "lanes",
    .summary = "allgathers among corresponding ranks, from the widest level of the machine to the nearest",
    .source = "Träff, Hunold 2020 (multi-lane collectives); any levels and algorithms are ours",
    .build = build,
    .unequal = true,
    .hierarchical = phases,
    .uniform = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
