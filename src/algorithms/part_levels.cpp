// Bundles are runs of a table's rows, in every group.
#include "algorithms/part_levels.hpp"

namespace omnes::inline algorithms {

PartLevels::PartLevels(Builder& b, int root)
    : b_(b), hierarchy_(*b.problem().hierarchy), groups_(hierarchy_.groups_of(b.rank(), root)) {}

std::pair<int, int> PartLevels::range(bool with_last) const {
  const Group& group = groups_.back();
  if (group.leads() && with_last) return {group.first(), group.count()};
  return {group.starts[group.self], group.count_of(group.self)};
}

RowSizes PartLevels::parts() const {
  return [this](int first, int count, std::vector<Like>& sizes) {
    for (int i = first; i < first + count; ++i) sizes.push_back({hierarchy_.rank_at(i), b_.rank()});
  };
}

Table PartLevels::new_table(std::pair<int, int> range) {
  std::vector<Like> sizes;
  parts()(range.first, range.second, sizes);
  return {b_.temp_sized(sizes), range.first, range.second};
}

Table PartLevels::table_of(Buffer buffer, bool filled) {
  if (hierarchy_.in_rank_order()) return {b_.part(buffer, 0, b_.p()), 0, b_.p()};
  const Table table = new_table({0, b_.p()});
  for (int i = 0; filled && i < b_.p(); ++i) b_.copy(b_.part(buffer, hierarchy_.rank_at(i)), table.rows(i, 1));
  return table;
}

void PartLevels::unpack(const Table& table, Buffer buffer) {
  if (table.blocks.buffer == buffer) return;
  for (int i = 0, end = 0; i < b_.p(); i = end) {
    const int rank = hierarchy_.rank_at(i);
    for (end = i + 1; end < b_.p() && hierarchy_.rank_at(end) == rank + end - i;) ++end;
    b_.copy(table.rows(i, end - i), b_.part(buffer, rank, end - i));
  }
}

View PartLevels::bundles(const Group& group, const Table& table) {
  View view{table.blocks.buffer, table.rows(group.first(), 0).first, {}};
  for (const int start : group.starts) view.starts.push_back((start - group.first()) * table.width);
  return view;
}

Blocks PartLevels::gather(const Table& table, Blocks own, std::size_t end, const RowSizes& sizes) {
  for (const Group& group : groups_) {
    if (group.level >= end || (group.size() == 1 && b_.p() > 1)) continue;
    const auto of_bundle = [&](Like like, std::vector<Like>& all) {
      sizes(group.starts[like.block], group.count_of(like.block), all);
    };
    if (!group.leads()) {
      run(Operation::gather, group, false, whole(own), {}, of_bundle);
      return own;
    }
    const bool there = own == table.rows(group.starts[group.self], group.count_of(group.self));
    run(Operation::gather, group, there, whole(own), bundles(group, table), of_bundle);
    own = table.rows(group.first(), group.count());
  }
  return own;
}

void PartLevels::scatter(const Table& table, Blocks own, std::size_t end, const RowSizes& sizes, bool stays) {
  for (auto at = groups_.rbegin(); at != groups_.rend(); ++at) {
    const Group& group = *at;
    if (group.level >= end || (group.size() == 1 && b_.p() > 1)) continue;
    const auto of_bundle = [&](Like like, std::vector<Like>& all) {
      sizes(group.starts[like.block], group.count_of(like.block), all);
    };
    const bool alone = group.count_of(group.self) == 1;
    const View into = whole(alone ? own : table.rows(group.starts[group.self], group.count_of(group.self)));
    if (group.leads())
      run(Operation::scatter, group, !alone || stays, bundles(group, table), into, of_bundle);
    else
      run(Operation::scatter, group, false, {}, into, of_bundle);
  }
}

void PartLevels::run(Operation operation, const Group& group, bool in_place, View send, View recv,
                     const std::function<void(Like, std::vector<Like>&)>& sizes) {
  operation = at_level(b_.problem(), group.level, operation);
  const Schedule schedule = schedule_in(b_.problem(), group, operation, group.root, in_place);
  embed(b_, schedule, {group.ranks, std::move(send), std::move(recv), sizes});
}

}  // namespace omnes::inline algorithms
