// Sets of ranks as bits.
#include "schedule/verifier/arrivals.hpp"

namespace omnes::verifier {

namespace {

constexpr int word_bits = 64;

std::uint64_t bit(int rank) { return std::uint64_t{1} << (rank % word_bits); }

}  // namespace

Arrivals::Arrivals(const Group& group) {
  if (group.operation() != Operation::barrier) return;
  words_ = (group.p() + word_bits - 1) / word_bits;
  known_.resize(words_ * group.op_count());
  for (OpId id = 0; id < group.op_count(); ++id) {
    const int rank = group.rank_of(id);
    known_[id * words_ + rank / word_bits] = bit(rank);
  }
}

void Arrivals::merge(OpId from, OpId into) {
  for (std::size_t i = 0; i < words_; ++i) known_[into * words_ + i] |= known_[from * words_ + i];
}

std::optional<Finding> Arrivals::check(const Group& group) const {
  if (words_ == 0) return std::nullopt;
  for (int rank = 0; rank < group.p(); ++rank) {
    std::vector<std::uint64_t> known(words_);
    known[rank / word_bits] = bit(rank);
    for (std::size_t op = 0; op < group.of(rank).ops.size(); ++op)
      for (std::size_t i = 0; i < words_; ++i) known[i] |= known_[group.op_id(rank, op) * words_ + i];
    for (int other = 0; other < group.p(); ++other)
      if ((known[other / word_bits] & bit(other)) == 0)
        return Finding{rank, -1, {}, "may leave the barrier before rank " + std::to_string(other) + " has entered"};
  }
  return std::nullopt;
}

}  // namespace omnes::verifier
