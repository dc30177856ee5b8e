// Ranks that do the same: so that one of them can be simulated for all.
//
// How. Most algorithms are alike for all ranks up to a renumbering: rank r + m does what r does, with all partners m further (a ring, Bruck),
// or rank r ^ m does, with all partners exchanged alike (recursive doubling). If the machine is as symmetric, all ranks r with equal r mod m do
// the same at the same times, and it suffices to simulate ranks 0 .. m - 1: a message from class i to the rank `d` places further is one to class
// (i + d) mod m. With m = p every rank is simulated itself.
//
// Why it is correct. The placement's symmetry is checked for all ranks. That of the schedules is checked on samples, since building all of them is
// what is to be saved: ranks at both ends, around the middle and at odd places, where algorithms treat ranks apart if they do so anywhere.
#pragma once

#include <functional>

#include "schedule/placement.hpp"
#include "schedule/schedule.hpp"

namespace omnes::model {

struct Symmetry {
  int p = 1;
  int classes = 1;         ///< m; p is a multiple of it
  bool exclusive = false;  ///< ranks are renumbered by ^ rather than by +; p and m are powers of two

  int class_of(int rank) const { return rank % classes; }
  /// What stays the same of two ranks when both are renumbered.
  int displacement(int from, int to) const { return exclusive ? from ^ to : to < from ? to - from + p : to - from; }
};

using ScheduleOf = std::function<Schedule(int rank)>;

/// The fewest classes that placement and schedules allow, as far as is seen quickly; p classes where none is found.
Symmetry find_symmetry(int p, const Placement& placement, const ScheduleOf& schedule);

}  // namespace omnes::model
