// Scatter along a hierarchy: the parts for a unit's ranks travel together. The root represents all units that it is in.
#include "algorithms/part_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.down = Operation::scatter};

void build(Builder& b) {
  PartLevels levels(b, b.root());
  const bool at_root = b.rank() == b.root();
  const auto range = levels.range();
  const Table table = at_root            ? levels.table_of(Buffer::send, true)
                      : range.second > 1 ? levels.new_table(range)
                                         : Table{};
  levels.scatter(table, b.part(Buffer::recv, 0), levels.hierarchy().levels(), levels.parts(), b.problem().in_place);
}

const Register registered{{
    .operation = Operation::scatter,
    .name = "hierarchical",
    .summary = "down the levels of the machine, the parts of a unit in one message",
    .source = "Karonis et al. 2000 (multilevel scatter); any algorithm at each level is ours",
    .build = build,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
