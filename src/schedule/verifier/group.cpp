// Numbering ops and blocks through.
#include "schedule/verifier/group.hpp"

#include "schedule/text.hpp"

namespace omnes::verifier {

Group::Group(std::span<const Schedule> schedules) : schedules_(schedules), first_op_{0}, first_block_{0} {
  for (int rank = 0; rank < p(); ++rank) {
    const Schedule& schedule = schedules[rank];
    first_op_.push_back(first_op_.back() + static_cast<OpId>(schedule.ops.size()));
    rank_of_.resize(first_op_.back(), rank);
    for (const Buffer buffer : {Buffer::send, Buffer::recv, Buffer::temp}) {
      const int blocks = buffer == Buffer::temp ? static_cast<int>(schedule.temp.size())
                                                : omnes::blocks_in(schedule.problem, schedule.pieces, buffer);
      first_block_.push_back(first_block_.back() + static_cast<BlockId>(blocks));
    }
  }
}

std::string Group::describe(OpId id) const {
  return "rank " + std::to_string(rank_of(id)) + " op " + std::to_string(index_of(id)) + " (" +
         to_text(of(rank_of(id)), op(id)) + ")";
}

Finding Group::finding(OpId id, std::string block, std::string message) const {
  return {rank_of(id), index_of(id), std::move(block), std::move(message)};
}

}  // namespace omnes::verifier
