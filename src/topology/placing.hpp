// Placements out of what all ranks say of themselves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/placement.hpp"
#include "topology/whereabouts.hpp"

namespace omnes::inline topology {

/// Why a level is no part of a placement.
struct LeftOut {
  /// off: not wanted. absent: no rank has it. inactive: it tells nothing of this group of ranks. declined: not known of all
  /// ranks, or contradictory.
  enum class Kind { off, absent, inactive, declined } kind;
  std::string level;
  std::string why;  ///< in words
};
const char* name(LeftOut::Kind kind);

struct Placed {
  Placement placement;
  std::vector<LeftOut> left_out;  ///< with the placement's, all levels
};

/// Of ranks 0, 1, ... The same on every rank that has the same records. Nothing is guessed: a level is used only when every
/// rank is known to lie on one unit of it.
Placed place(std::span<const Whereabouts> ranks, LevelSet wanted = all_levels);

}  // namespace omnes::inline topology
