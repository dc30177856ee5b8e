// The levels that omnes knows by name, and which of them a user wants.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>

#include "schedule/placement.hpp"

namespace omnes::inline topology {

inline constexpr std::size_t level_count = level_names.size();
inline constexpr std::size_t node_level = inner_levels;
inline constexpr std::size_t first_switch = node_level + 1;
inline constexpr std::size_t max_switch_levels = level_count - first_switch;

using LevelSet = std::bitset<level_count>;
inline constexpr LevelSet all_levels{(1ull << level_count) - 1};

/// "numa,node,switch" -> those. Throws std::invalid_argument, which lists what is valid.
LevelSet parse_levels(std::string_view text);
std::string to_string(LevelSet levels);

}  // namespace omnes::inline topology
