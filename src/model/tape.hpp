// The schedules of a group, flattened for simulation: steps with their messages found and their order turned round.
//
// Overview: steps of all simulated ranks lie in one array. A send is tied to its messages, a receive to the message it takes, and a step that ends
// knows which steps it releases. Blocks stay blocks: a tape serves every message size.
// How: the k-th send from one rank to another meets the k-th receive there, as the transports match them. A message is named by the sender's class,
// the displacement to the receiver and k; where one rank stands for many (symmetry.hpp) this name is all that both ends know.
#pragma once

#include <cstdint>
#include <vector>

#include "model/machine_costs.hpp"
#include "model/symmetry.hpp"

namespace omnes::model {

inline constexpr std::uint32_t nothing = ~0u;

struct TapeStep {
  OpKind kind = OpKind::copy;
  bool published = false;
  std::uint8_t level = 0;   ///< receives: the machine's level between the two ranks
  std::int32_t rank = 0;    ///< the simulated rank, 0 .. classes - 1
  std::int32_t blocks = 0;  ///< moved, copied or combined
  std::int32_t from = -1;   ///< receives: the class of the sender
  std::int32_t place = 0;   ///< receives of a publish: how many ranks beyond the sender's node it is sent to before
  std::uint32_t message = nothing;  ///< receives: the one taken; sends: the first
  std::uint32_t messages = 0;       ///< sends: how many; a publish is one
  std::uint32_t waits = 0;          ///< steps that come before, and for receives the message
  std::uint32_t first_after = 0, after_count = 0;
  std::uint32_t next_reader = nothing;  ///< receives: the next one that takes the same message
};

struct TapeMessage {
  std::uint32_t sender = nothing;        ///< step
  std::uint32_t first_reader = nothing;  ///< step
  std::uint32_t readers = 0;
  std::int32_t to = -1;    ///< class; -1: published
  std::uint8_t level = 0;  ///< of a message to one rank
};

struct Tape {
  Symmetry symmetry;
  Operation operation = Operation::barrier;
  int pieces = 1;
  std::vector<TapeStep> steps;
  std::vector<std::uint32_t> after;
  std::vector<TapeMessage> messages;
  std::vector<std::uint32_t> first_step;         ///< of each class; then one past the end
  std::vector<std::uint8_t> level_of;            ///< of the placement's levels: the machine's
  std::uint8_t widest_memory = 0;                ///< the machine's widest level whose ranks share memory
  std::vector<std::int32_t> near_readers;        ///< of each class: other ranks that share memory with it
  std::vector<std::vector<std::int32_t>> units;  ///< [level][class]: unit, renumbered, starting at 0
  std::vector<std::vector<double>> share;        ///< [level][unit]: ranks on it for each one simulated
};

/// Which level of the machine serves each level of the placement; last: ranks that share none.
std::vector<std::uint8_t> levels_of(const MachineCosts& machine, const Placement& placement);

/// Throws std::invalid_argument when messages do not meet.
Tape record(const MachineCosts& machine, const Placement& placement, const Symmetry& symmetry,
            const ScheduleOf& schedule);

}  // namespace omnes::model
