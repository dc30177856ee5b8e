// Which algorithm runs in the groups of a level: the composition's, or a default.
#pragma once

#include "algorithms/registry.hpp"
#include "schedule/hierarchy.hpp"

namespace omnes::inline algorithms {

/// An algorithm with its radix.
struct Picked {
  const Algorithm* algorithm = nullptr;
  int radix = 0;
};

/// For `operation` in the groups of a level of the problem's hierarchy. Where the level's algorithm is one of another
/// operation only, as may be on the way up or down, this one has its default.
Picked picked(const Problem& problem, std::size_t level, Operation operation);

/// The operation that does this one's work in a level's groups of the problem: with unequal parts where its members
/// stand for different numbers of ranks, or parts are pieces of a message, which are only nearly equal.
Operation at_level(const Problem& problem, std::size_t level, Operation operation);

/// This rank's schedule of `operation` in a group, by the algorithm picked for its level; `root`: a member, where there is one.
Schedule schedule_in(const Problem& problem, const Group& group, Operation operation, int root, bool in_place = false);

/// The operations that an algorithm composes at a level.
std::vector<Operation> phases_at(const Algorithm& algorithm, bool last);

/// Of the levels that a composition names, those that the hierarchy, if any, does not have; "" or "numa, l3".
std::string levels_passed_over(const Composition& composition, const Hierarchy* hierarchy);

/// why_not for what a hierarchical algorithm is composed of.
std::string why_not_composed(const Algorithm& algorithm, const Problem& problem, bool commutative);

}  // namespace omnes::inline algorithms
