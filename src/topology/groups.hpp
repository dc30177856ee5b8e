// The groups in which ranks act, level by level, as M. Kurnosov and others build them for collectives over a hierarchy:
// without communicators, from the placement alone.
//
// On the lowest level, the ranks of one unit are a group; its lowest rank is its leader. The leaders are the members of the
// groups of the next level, and so on; the leaders of the widest level are one last group. A rank is in a group of a level
// only if it leads its groups on all levels below.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/placement.hpp"

namespace omnes::inline topology {

/// The groups of one level, in the order of their leaders.
struct GroupLevel {
  std::string name;               ///< of the placement's level; "all" for the last
  std::vector<int> ranks;         ///< of one group after the other, ascending in each: the leader is the first
  std::vector<std::size_t> ends;  ///< where each group ends in `ranks`
  bool operator==(const GroupLevel&) const = default;

  std::size_t count() const { return ends.size(); }
  std::span<const int> group(std::size_t i) const {
    const std::size_t start = i > 0 ? ends[i - 1] : 0;
    return std::span(ranks).subspan(start, ends[i] - start);
  }
};

/// One for each level of the placement and the last. O(p * levels) at most; less as each level has fewer members.
std::vector<GroupLevel> groups_of(const Placement& placement);

}  // namespace omnes::inline topology
