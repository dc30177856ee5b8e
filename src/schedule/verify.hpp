// The verifier: proves that the schedules of all ranks together do what their operation promises, and cannot get stuck.
//
// Overview. It takes the final op lists, whoever made them, and proves for this p, root and cutting into blocks:
//   shape      indices in range, ops well formed, sizes of blocks agree, nothing written that MPI calls const
//   messages   each message has one receiver who expects it, with the same number and sizes of blocks
//   hazards    ops of a rank that touch the same block, one of them writing, are ordered by the dependencies
//   progress   no deadlock, even if every send is synchronous, a publish waits for all its readers at once, and each
//              channel carries one message at a time
//   contract   every block of `recv` ends with exactly the value promised: contributions each once, in rank order where
//              claimed; for allreduce the same expression on all ranks, with the same operands on the left and on the
//              right. Nothing unwritten is read, and no rank leaves a barrier before all have entered
// How. The first three look at lists; the last two run all ranks together on symbolic values (files in verifier/).
// Why one run is enough. An op's start can only be delayed by ops of its own rank and by its messages; all that a
// completion does is to allow more. So whatever completes first, the same ops complete in the end; and since no two ops
// that conflict are unordered, they read the same values in every order.
// Cost. O(ops + dependencies + blocks touched); for barrier also p bits per op.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "schedule/schedule.hpp"

namespace omnes {

/// What was found wrong, and where.
struct Finding {
  int rank = -1;
  int op = -1;        ///< -1: not an op's fault (a block's final value, the schedule as a whole)
  std::string block;  ///< as in the text form; empty where no block is concerned
  std::string message;
};
/// One line: "rank 1 op 3, recv[2]: message".
std::string to_text(const Finding& finding);

/// What the algorithm claims beyond its operation.
struct Claims {
  bool ordered = false;    ///< reductions combine the contributions in rank order
  bool from_left = false;  ///< reductions associate from the left: ((x0 . x1) . x2) ...
};

/// schedules[i] is rank i's. nullopt: proved.
std::optional<Finding> verify(std::span<const Schedule> schedules, Claims claims = {});

}  // namespace omnes
