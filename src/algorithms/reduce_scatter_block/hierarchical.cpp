// Reduce_scatter along a hierarchy: all parts are combined on the way up to one rank of each of the widest units; among
// these, a reduce_scatter in which each gets the parts of its unit's ranks; and scatters down.
#include "algorithms/message_levels.hpp"
#include "algorithms/part_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::reduce, .top = Operation::reduce_scatter_block, .down = Operation::scatter};

/// The last group's reduce_scatter of what `sum` holds in rank order, to `into`.
void across(Builder& b, PartLevels& levels, Blocks sum, Blocks into) {
  const Group& group = levels.last_group();
  Table parts{sum, 0, b.p()};
  if (!levels.hierarchy().in_rank_order()) {
    parts = levels.new_table({0, b.p()});
    for (int i = 0; i < b.p(); ++i) b.copy(sub(sum, levels.hierarchy().rank_at(i)), parts.rows(i, 1));
  }
  levels.run(Operation::reduce_scatter_block, group, false, levels.bundles(group, parts), whole(into),
             [&](Like like, std::vector<Like>& all) {
               levels.parts()(group.starts[like.block], group.count_of(like.block), all);
             });
}

void build(Builder& b) {
  MessageLevels message(b, phases, -1, b.p());
  PartLevels levels(b);
  const bool leads = levels.groups().size() > 1;
  const Blocks send = b.part(Buffer::send, 0, b.p()), sums = b.temp(leads ? b.p() : 0), own = b.part(Buffer::recv, 0);
  message.up(send, sums);
  const auto range = levels.range(false);
  const Table table = range.second > 1 ? levels.new_table(range) : Table{own, range.first, 1};
  if (levels.in_last_group()) across(b, levels, message.sum(send, sums), table.blocks);
  levels.scatter(table, own, levels.hierarchy().levels() - 1, levels.parts());
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "hierarchical",
    .summary = "reduce up the levels of the machine, reduce_scatter of bundles in the widest, scatter down",
    .source = "as in Kurnosov et al. (coll/tcl) for other operations",
    .build = build,
    .ordered = true,
    .unequal = true,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
