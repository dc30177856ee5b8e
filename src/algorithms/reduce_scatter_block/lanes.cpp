// Reduce_scatter along lanes: in each of the nearest units a rank gets the sums of the parts of all ranks that
// correspond to it, then among these, level by level. Needs a commutative operation.
#include "algorithms/lanes.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::reduce_scatter_block, .top = Operation::reduce_scatter_block};

void build(Builder& b) {
  MultiLane lanes(b);
  LaneTable rows(b, *b.problem().hierarchy);
  const Blocks everything = recv_blocks(0, b.p());  // as rows, wherever they lie
  Blocks sums = rows.table_of(Buffer::send, true);
  for (std::size_t level = 0; level <= lanes.last(); ++level) {
    const Blocks left = lanes.slice(everything, level + 1);
    std::vector<Like> sizes;
    for (int i = 0; i < left.count; ++i) sizes.push_back(rows.like(left.first + i));
    const Blocks into = level == lanes.last() ? b.part(Buffer::recv, 0) : b.temp_sized(sizes);
    lanes.run(Operation::reduce_scatter_block, level, false, sums, into, lanes.slice(everything, level).first,
              [&](int row) { return rows.like(row); });
    sums = into;
  }
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "lanes",
    .summary = "reduce_scatters among corresponding ranks, from the nearest level of the machine to the widest",
    .source = "Träff, Hunold 2020 (multi-lane collectives); any levels and algorithms are ours",
    .build = build,
    .unequal = true,
    .hierarchical = phases,
    .uniform = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
