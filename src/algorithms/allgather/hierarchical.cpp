// Allgather along a hierarchy: gathers up to one rank of each of the widest units, an allgather of bundles among these,
// and bcasts down. A bundle goes down as soon as it has arrived, while others are still on their way.
#include "algorithms/part_levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::gather, .top = Operation::allgather, .down = Operation::bcast};

/// Each of the bundles on its way down.
void spread(Builder& b, PartLevels& levels, const Group& group, const Table& table, std::span<const int> starts) {
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const int first = starts[i], count = starts[i + 1] - first;
    const Schedule schedule = schedule_in(b.problem(), group, Operation::bcast, group.root);
    const View parts = cut_evenly(table.rows(first, count), schedule.pieces);
    const auto sizes = [&](Like like, std::vector<Like>& all) {
      levels.parts()(first + parts.starts[like.block], parts.starts[like.block + 1] - parts.starts[like.block], all);
    };
    embed(b, schedule, {group.ranks, parts, parts, sizes});
  }
}

void build(Builder& b) {
  PartLevels levels(b);
  const Hierarchy& hierarchy = levels.hierarchy();
  const std::size_t last = hierarchy.levels() - 1;
  const Table table = levels.table_of(Buffer::recv, false);
  const Blocks bundle = levels.gather(table, b.own(), last, levels.parts());
  if (levels.in_last_group()) {
    const Group& group = levels.last_group();
    const bool there = bundle == table.rows(group.starts[group.self], group.count_of(group.self));
    levels.run(Operation::allgather, group, there, whole(bundle), levels.bundles(group, table),
               [&](Like like, std::vector<Like>& all) {
                 levels.parts()(group.starts[like.block], group.count_of(like.block), all);
               });
  }
  const std::vector<int> starts = hierarchy.starts_of_widest();
  for (auto group = levels.groups().rbegin(); group != levels.groups().rend(); ++group)
    if (group->level < last && group->size() > 1) spread(b, levels, *group, table, starts);
  levels.unpack(table, Buffer::recv);
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "hierarchical",
    .summary = "gather up the levels of the machine, allgather of bundles in the widest, bcast down",
    .source = "Träff 2006 (allgather for SMP clusters); any levels and algorithms are ours",
    .build = build,
    .unequal = true,
    .hierarchical = phases,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
