// Scans along a hierarchy of units with consecutive ranks.
//
// How. Up: in each group an exscan of what its members stand for, so that each has the sum of the members before it;
// the last member adds its own and so stands for the unit in the next group. Down: what a member has from there is the
// sum of all ranks before its unit; it goes to the unit's members, who put it on the left of what they have. At the end
// every rank has the sum of all lower ranks.
#pragma once

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {

inline constexpr Phases phases_of_scans{.up = Operation::exscan, .down = Operation::bcast};

/// The whole scan or exscan, whichever the problem asks for.
void scan_levels(Builder& b);

}  // namespace omnes::inline algorithms
