// Gather along a hierarchy: the parts of a unit's ranks travel together. The root represents all units that it is in.
#include "algorithms/part_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::gather};

void build(Builder& b) {
  PartLevels levels(b, b.root());
  const bool at_root = b.rank() == b.root();
  const Table table = at_root                      ? levels.table_of(Buffer::recv, false)
                      : levels.groups().size() > 1 ? levels.new_table(levels.range())
                                                   : Table{};
  levels.gather(table, b.own(), levels.hierarchy().levels(), levels.parts());
  if (at_root) levels.unpack(table, Buffer::recv);
}

const Register registered{{
    .operation = Operation::gather,
    .name = "hierarchical",
    .summary = "up the levels of the machine, the parts of a unit in one message",
    .source = "Karonis et al. 2000 (multilevel gather); any algorithm at each level is ours",
    .build = build,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
