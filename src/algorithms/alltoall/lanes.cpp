// Alltoall along lanes: level by level, the nearest first, ranks that correspond to each other exchange all that is for
// their units or comes from them. So there are as many messages as groups have members, and all ranks of a node send.
//
// How. Before a level a rank holds, from each source that the levels below have brought, what is for all destinations
// that differ from itself at this level and above. Blocks lie in the order [destination's number at this level][at the
// levels above][source]; what comes is [source's number at this level][destination's above][source], which is copied
// into the next level's order. At the end sources are in the order of positions.
#include "algorithms/lanes.hpp"
#include "schedule/hierarchy.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::alltoall, .top = Operation::alltoall};

Blocks room(Builder& b) { return b.temp_sized(std::vector<Like>(b.p(), {0, b.rank()})); }

/// [i][j] of runs of `length` blocks becomes [j][i].
Blocks transposed(Builder& b, Blocks from, int rows, int columns, int length) {
  const Blocks into = room(b);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      b.copy(sub(from, (i * columns + j) * length, length), sub(into, (j * rows + i) * length, length));
  return into;
}

Blocks contribution(Builder& b) {
  const bool in_place = b.problem().in_place;
  const Blocks table = LaneTable(b, *b.problem().hierarchy).table_of(in_place ? Buffer::recv : Buffer::send, true);
  if (table.buffer != Buffer::recv) return table;
  const Blocks saved = room(b);
  b.copy(table, saved);
  return saved;
}

void build(Builder& b) {
  MultiLane lanes(b);
  const Hierarchy& hierarchy = *b.problem().hierarchy;
  Blocks here = contribution(b);
  for (std::size_t level = 0; level <= lanes.last(); ++level) {
    const bool ends = level == lanes.last() && hierarchy.in_rank_order();
    const Blocks into = ends ? b.part(Buffer::recv, 0, b.p()) : room(b);
    lanes.run(Operation::alltoall, level, false, here, into, 0, [&](int) { return Like{0, b.rank()}; });
    here = into;
    if (level == lanes.last()) break;
    const int sources = lanes.slices(level), members = lanes.group(level).size();
    here = transposed(b, here, members, b.p() / sources / members, sources);
  }
  for (int position = 0; here.buffer != Buffer::recv && position < b.p(); ++position)
    b.copy(sub(here, position), b.part(Buffer::recv, hierarchy.rank_at(position)));
}

const Register registered{{
    .operation = Operation::alltoall,
    .name = "lanes",
    .summary = "alltoalls among corresponding ranks, from the nearest level of the machine to the widest",
    .source = "Träff, Hunold 2020 (multi-lane collectives); any levels and algorithms are ours",
    .build = build,
    .hierarchical = phases,
    .uniform = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
