// Where the ranks of a group lie in a machine: for each level the unit that a rank lies on.
//
// Plain data that algorithms, models and mappings share; topology/ makes it from machines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace omnes {

/// The levels that there can be. Within a node, then the node, then the switches above it. What is the wider of two levels
/// within a node differs between machines; this order says only which comes first in lists.
inline constexpr std::array<const char*, 10> level_names = {"core", "l2",     "l3",      "numa",    "socket",
                                                            "node", "switch", "switch2", "switch3", "switch4"};
inline constexpr std::size_t inner_levels = 5;  ///< those within a node come first

/// One level: ranks with the same number lie on the same unit (core, L3, NUMA node, node, switch ...).
struct PlacementLevel {
  std::string name;
  std::vector<std::int32_t> unit;  ///< of each rank; any number, 0 or more
  bool operator==(const PlacementLevel&) const = default;
};

/// Levels from the nearest to the widest. Ranks on one unit of a level lie on one unit of every wider level, too. The whole
/// group is no level: it needs no saying that all ranks share it.
struct Placement {
  int p = 1;
  std::vector<PlacementLevel> levels;
  bool operator==(const Placement&) const = default;

  /// The nearest level of which both ranks lie on one unit; levels.size() where they share none.
  std::size_t level_between(int a, int b) const {
    std::size_t level = 0;
    while (level < levels.size() && levels[level].unit[a] != levels[level].unit[b]) ++level;
    return level;
  }
};

}  // namespace omnes
