// The levels that omnes knows by name, and which of them a user wants.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>

namespace omnes {

/// Within a node, then the node, then the switches above it. What is the wider of two levels within a node differs
/// between machines; this order says only which comes first in lists.
inline constexpr std::array<const char*, 10> level_names = {"core", "l2",     "l3",      "numa",    "socket",
                                                            "node", "switch", "switch2", "switch3", "switch4"};
inline constexpr std::size_t level_count = level_names.size();
inline constexpr std::size_t inner_levels = 5;  ///< those within a node come first
inline constexpr std::size_t node_level = inner_levels;
inline constexpr std::size_t first_switch = node_level + 1;
inline constexpr std::size_t most_switch_levels = level_count - first_switch;

using LevelSet = std::bitset<level_count>;
inline constexpr LevelSet all_levels{(1ull << level_count) - 1};

/// "numa,node,switch" -> those. Throws std::invalid_argument, which lists what is valid.
LevelSet parse_levels(std::string_view text);
std::string to_string(LevelSet levels);

}  // namespace omnes
