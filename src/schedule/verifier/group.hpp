// All ranks' schedules as one list of ops and one list of blocks, numbered through; what the verifier's parts share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"
#include "schedule/verify.hpp"

namespace omnes::verifier {

/// An op or a block, numbered through all ranks.
using OpId = std::uint32_t;
using BlockId = std::uint32_t;

/// The message from one op to one other, or to all others for a publish.
struct Message {
  OpId sender = 0;
  std::uint32_t first_receiver = 0;  // place in Messages::receivers
  std::uint32_t receiver_count = 0;
  std::int32_t before = -1;  // the previous message of the same channel, -1: none
  std::int32_t next = -1;    // the next one
};

struct Messages {
  std::vector<Message> list;
  std::vector<OpId> receivers;
  std::vector<std::uint32_t> first_of;  // per op: its place in by_op; one more at the end
  std::vector<std::uint32_t> by_op;     // the messages that an op takes part in

  std::span<const OpId> receivers_of(const Message& message) const {
    return {receivers.data() + message.first_receiver, message.receiver_count};
  }
  std::span<const std::uint32_t> of(OpId op) const {
    return {by_op.data() + first_of[op], first_of[op + 1] - first_of[op]};
  }
};

class Group {
 public:
  explicit Group(std::span<const Schedule> schedules);

  int p() const { return static_cast<int>(schedules_.size()); }
  const Schedule& of(int rank) const { return schedules_[rank]; }
  int pieces() const { return schedules_[0].pieces; }
  Operation operation() const { return schedules_[0].problem.operation; }

  OpId op_count() const { return first_op_.back(); }
  OpId op_id(int rank, std::size_t op) const { return first_op_[rank] + static_cast<OpId>(op); }
  int rank_of(OpId id) const { return rank_of_[id]; }
  int index_of(OpId id) const { return static_cast<int>(id - first_op_[rank_of_[id]]); }
  const Op& op(OpId id) const { return schedules_[rank_of_[id]].ops[index_of(id)]; }

  BlockId block_count() const { return first_block_.back(); }
  BlockId block_id(int rank, Buffer buffer, int block) const {
    return first_block_[rank * 3 + static_cast<int>(buffer)] + static_cast<BlockId>(block);
  }
  int blocks_in(int rank, Buffer buffer) const {
    const std::size_t at = rank * 3 + static_cast<int>(buffer);
    return static_cast<int>(first_block_[at + 1] - first_block_[at]);
  }

  /// "rank 2 op 5 (send to 3: temp[0])"
  std::string describe(OpId id) const;
  Finding finding(OpId id, std::string block, std::string message) const;

 private:
  std::span<const Schedule> schedules_;
  std::vector<OpId> first_op_;  // per rank, and the number of all
  std::vector<std::int32_t> rank_of_;
  std::vector<BlockId> first_block_;  // per rank and buffer, and the number of all
};

/// Each op by itself, and the schedules' heads. A Group may be made only of schedules that pass.
std::optional<Finding> check_shape(std::span<const Schedule> schedules);
/// Fills `messages`.
std::optional<Finding> match_messages(const Group& group, Messages& messages);
std::optional<Finding> check_hazards(const Group& group);
std::optional<Finding> run(const Group& group, const Messages& messages, Claims claims);

}  // namespace omnes::verifier
