// One pass over the members of each level: they come in ascending order, so that the first of a unit leads it.
#include "topology/groups.hpp"

#include <numeric>
#include <unordered_map>

namespace omnes::inline topology {

namespace {

/// Counts the members of each unit, then puts each in its place.
GroupLevel grouped(const PlacementLevel& level, const std::vector<int>& members) {
  GroupLevel made{level.name, std::vector<int>(members.size()), {}};
  std::unordered_map<std::int32_t, std::size_t> numbers;
  std::vector<std::size_t> in_group(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    in_group[i] = numbers.try_emplace(level.unit[members[i]], numbers.size()).first->second;
    if (in_group[i] == made.ends.size()) made.ends.push_back(0);
    ++made.ends[in_group[i]];
  }
  std::exclusive_scan(made.ends.begin(), made.ends.end(), made.ends.begin(), std::size_t{0});
  for (std::size_t i = 0; i < members.size(); ++i) made.ranks[made.ends[in_group[i]]++] = members[i];
  return made;
}

}  // namespace

std::vector<GroupLevel> groups_of(const Placement& placement) {
  std::vector<int> members(placement.p);
  std::iota(members.begin(), members.end(), 0);
  std::vector<GroupLevel> levels;
  for (const PlacementLevel& level : placement.levels) {
    levels.push_back(grouped(level, members));
    members.clear();
    for (std::size_t i = 0; i < levels.back().count(); ++i) members.push_back(levels.back().group(i).front());
  }
  const std::size_t count = members.size();
  levels.push_back({"all", std::move(members), {count}});
  return levels;
}

}  // namespace omnes::inline topology
