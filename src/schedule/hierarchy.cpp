// Positions by sorting ranks by the lowest ranks of their units, widest level first.
#include "schedule/hierarchy.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>
#include <unordered_map>

namespace omnes {

namespace {

/// For each rank the lowest rank on its unit.
std::vector<std::int32_t> lowest_ranks(const PlacementLevel& level, int p) {
  if (static_cast<int>(level.unit.size()) != p)
    throw std::invalid_argument("level " + level.name + " lists the units of " + std::to_string(level.unit.size()) +
                                " ranks, but there are " + std::to_string(p));
  std::unordered_map<std::int32_t, std::int32_t> lowest;
  std::vector<std::int32_t> of(p);
  for (int rank = 0; rank < p; ++rank) of[rank] = lowest.try_emplace(level.unit[rank], rank).first->second;
  return of;
}

}  // namespace

bool within_node(std::string_view level) {
  const auto up_to_node = std::span(level_names).first(inner_levels + 1);
  return std::ranges::find(up_to_node, level) != up_to_node.end();
}

Hierarchy::Hierarchy(const Placement& placement) : order_(placement.p), position_(placement.p) {
  const int p = placement.p;
  std::vector<std::vector<std::int32_t>> lowest;  // widest level first
  for (auto level = placement.levels.rbegin(); level != placement.levels.rend(); ++level)
    lowest.push_back(lowest_ranks(*level, p));
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::sort(order_, [&](int a, int b) {
    for (const auto& of : lowest)
      if (of[a] != of[b]) return of[a] < of[b];
    return a < b;
  });
  for (int position = 0; position < p; ++position) position_[order_[position]] = position;
  in_rank_order_ = std::ranges::is_sorted(order_);

  // A unit begins where this level's or a wider one's changes: so units nest, whatever numbers they have.
  std::vector<std::int32_t> begins(p);  // the parts of the level to come, by position
  std::iota(begins.begin(), begins.end(), 0);
  for (std::size_t level = 0; level < placement.levels.size(); ++level) {
    const std::span wider(lowest.data(), lowest.size() - level);
    std::vector<std::int32_t> starts, unit_begins;
    for (std::size_t part = 0; part < begins.size(); ++part) {
      const int at = begins[part];
      const auto changes = [&](const auto& of) { return at == 0 || of[order_[at]] != of[order_[at - 1]]; };
      if (!std::ranges::any_of(wider, changes)) continue;
      starts.push_back(static_cast<std::int32_t>(part));
      unit_begins.push_back(at);
    }
    if (starts.size() == begins.size()) continue;
    starts.push_back(static_cast<std::int32_t>(begins.size()));
    begins = std::move(unit_begins);
    add(placement.levels[level].name, std::move(starts));
  }
  if (begins.size() > 1 || levels_.empty()) add(top_level, {0, static_cast<std::int32_t>(begins.size())});
}

void Hierarchy::add(std::string name, std::vector<std::int32_t> starts) {
  levels_.push_back({std::move(name), std::move(starts), {}, false});
  Tier& level = levels_.back();
  std::set<std::int32_t> sizes;
  for (std::size_t unit = 0; unit + 1 < level.starts.size(); ++unit) {
    sizes.insert(level.starts[unit + 1] - level.starts[unit]);
    if (levels_.size() == 1) continue;
    const auto ranks = [&](int part) {
      return position_before(levels_.size() - 2, part + 1) - position_before(levels_.size() - 2, part);
    };
    for (int part = level.starts[unit] + 1; part < level.starts[unit + 1]; ++part)
      level.uneven |= ranks(part) != ranks(part - 1);
  }
  level.sizes.assign(sizes.begin(), sizes.end());
}

/// The positions of all units before this one; unit may be one past the last.
int Hierarchy::position_before(std::size_t level, int unit) const {
  for (std::size_t below = level + 1; below-- > 0;) unit = levels_[below].starts[unit];
  return unit;
}

bool Hierarchy::uniform() const {
  return std::ranges::all_of(levels_, [](const Tier& level) { return level.sizes.size() == 1; });
}

std::vector<Group> Hierarchy::lanes_of(int rank) const {
  OMNES_ASSERT(uniform());
  std::vector<Group> all;
  int ranks_of_part = 1;
  for (std::size_t level = 0; level < levels(); ++level) {
    const int parts = levels_[level].sizes.front();
    Group group{.level = level, .self = position_[rank] / ranks_of_part % parts};
    for (int part = 0; part < parts; ++part)
      group.ranks.push_back(order_[position_[rank] + (part - group.self) * ranks_of_part]);
    ranks_of_part *= parts;
    all.push_back(std::move(group));
  }
  return all;
}

std::vector<int> Hierarchy::starts_of_widest() const {
  std::vector<int> starts;
  const std::size_t last = levels() - 1;
  for (int part = 0; part <= levels_[last].starts.back(); ++part)
    starts.push_back(last == 0 ? part : position_before(last - 1, part));
  return starts;
}

int Hierarchy::unit_of(std::size_t level, int part) const {
  const auto& starts = levels_[level].starts;
  return static_cast<int>(std::ranges::upper_bound(starts, part) - starts.begin()) - 1;
}

int Hierarchy::representative(std::size_t level, int unit, int root, int slice, Represents how) const {
  if (root >= 0 && position_before(level, unit) <= position_[root] &&
      position_[root] < position_before(level, unit + 1))
    return root;
  if (how == Represents::last) return order_[position_before(level, unit + 1) - 1];
  for (std::size_t at = level + 1; at-- > 0;) {
    const int first = levels_[at].starts[unit], parts = levels_[at].starts[unit + 1] - first;
    unit = first + slice % parts;
    if (at + 1 < levels()) slice /= parts;
  }
  return order_[unit];
}

std::vector<Group> Hierarchy::groups_of(int rank, int root, int slice) const {
  return groups(rank, root, slice, Represents::by_slice);
}
std::vector<Group> Hierarchy::groups_by_last(int rank) const { return groups(rank, -1, 0, Represents::last); }

std::vector<Group> Hierarchy::groups(int rank, int root, int slice, Represents how) const {
  OMNES_ASSERT(rank >= 0 && rank < p() && root < p() && slice >= 0);
  std::vector<int> units(levels()), slices(levels());  // the rank's, and how the slice is seen from them
  int part = position_[rank];
  for (std::size_t level = 0; level < levels(); ++level) part = units[level] = unit_of(level, part);
  for (std::size_t level = levels(); level-- > 0;) {
    slices[level] = slice;
    if (level + 1 < levels()) slice /= levels_[level].starts[units[level] + 1] - levels_[level].starts[units[level]];
  }
  std::vector<Group> all;
  for (std::size_t level = 0; level < levels(); ++level) {
    Group group{.level = level};
    const int first = levels_[level].starts[units[level]], end = levels_[level].starts[units[level] + 1];
    const int leader = representative(level, units[level], root, slices[level], how);
    for (int member = first; member < end; ++member) {
      const int below = level == 0 ? 0 : slices[level - 1];
      const int its = level == 0 ? order_[member] : representative(level - 1, member, root, below, how);
      if (its == rank) group.self = member - first;
      if (its == leader) group.root = member - first;
      group.ranks.push_back(its);
      group.starts.push_back(level == 0 ? member : position_before(level - 1, member));
    }
    group.starts.push_back(position_before(level, units[level] + 1));
    all.push_back(std::move(group));
    if (leader != rank) break;
  }
  return all;
}

}  // namespace omnes
