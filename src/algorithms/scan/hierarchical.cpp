// Scan and exscan along a hierarchy of units with consecutive ranks: an exscan in the groups of each level, and the sums
// of all lower units down again. Segment by segment, with the last rank of each unit as its representative.
//
// How. Up: in each group an exscan of what its members stand for, so that each has the sum of the members before it;
// the last member adds its own and so stands for the unit in the next group. Down: what a member has from there is the
// sum of all ranks before its unit; it goes to the unit's members, who put it on the left of what they have. At the end
// every rank has the sum of all lower ranks.
#include "algorithms/embedding.hpp"
#include "algorithms/levels.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

constexpr Phases phases{.up = Operation::exscan, .down = Operation::bcast};

/// `operation` in a group, on one block of the size of data block `like`.
void run(Builder& b, const Group& group, Operation operation, int like, Blocks from, Blocks into) {
  const Schedule schedule = schedule_in(b.problem(), group, operation, group.root);
  const View data = cut_evenly(recv_blocks(like), schedule.pieces);
  const auto sizes = [&](Like inner, std::vector<Like>& all) {
    if (data(recv_blocks(inner.block)).count > 0) all.push_back({like, b.rank()});
  };
  embed(b, schedule, {group.ranks, cut_evenly(from, schedule.pieces), cut_evenly(into, schedule.pieces), sizes});
}

void build(Builder& b) {
  const bool with_own = b.problem().operation == Operation::scan;
  b.cut(b.segments());
  const Hierarchy& hierarchy = *b.problem().hierarchy;
  const std::vector<Group> groups = hierarchy.groups_by_last(b.rank());
  const auto block = [&](int like) { return b.temp(1, like); };
  for (int s = 0; s < b.pieces(); ++s) {
    const Blocks own = sub(b.own(), s);
    std::vector<Blocks> before(groups.size());  // the sum of the members before this one; for the first: nothing
    Blocks sum = own;
    for (const Group& group : groups) {
      if (group.size() == 1) continue;
      if (group.self > 0) before[group.level] = block(s);
      run(b, group, Operation::exscan, s, sum, before[group.level]);
      if (!group.leads() || group.level + 1 == hierarchy.levels()) continue;
      const Blocks with_mine = block(s);
      b.reduce(before[group.level], sum, with_mine);
      sum = with_mine;
    }
    Blocks lower;  // the sum of all lower ranks of the units come to so far; count 0: there are none
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
      if (group->size() == 1) continue;
      if (group->level + 1 < hierarchy.levels() && group->first() > 0) {
        if (!group->leads()) lower = block(s);
        run(b, *group, Operation::bcast, s, {}, lower);
      }
      const Blocks here = before[group->level];
      if (here.count == 0) continue;
      if (lower.count > 0) {
        const Blocks both = block(s);
        b.reduce(lower, here, both);
        lower = both;
      } else {
        lower = here;
      }
    }
    const Blocks result = recv_blocks(s);
    if (with_own && lower.count > 0)
      b.reduce(lower, own, result);
    else if (with_own)
      b.copy(own, result);
    else if (lower.count > 0)
      b.copy(lower, result);
  }
}

const Register registered{{
    .operation = Operation::scan,
    .name = "hierarchical",
    .summary = "exscans up the levels of the machine, and sums of lower units down",
    .source = "MPICH (SMP-aware scan and exscan) for one level; any levels and algorithms are ours",
    .build = build,
    .segmented = true,
    .ordered = true,
    .also = Operation::exscan,
    .hierarchical = phases,
    .consecutive = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
