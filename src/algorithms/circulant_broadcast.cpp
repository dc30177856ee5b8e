// Depth-first search over sums of skips.
#include "algorithms/circulant_broadcast.hpp"

#include <algorithm>
#include <cstdint>

#include "algorithms/circulant.hpp"

namespace omnes::inline algorithms {

namespace {

/// Finds for the rounds k = 0, 1, ... of a phase the rank whose base block arrives: descending sums of different skips,
/// each at least skip(k) below the receiver. The path to such a rank ends with its smallest skip: its base block.
class Search {
 public:
  Search(const std::vector<int>& skips, int rank, int base)
      : skips_(skips), used_(1u << base), target_(skips.back() + rank), bound_(2 * skips.back()) {
    found_.reserve(skips.size());
  }

  /// The base block of each round; the phase's length stands for the root itself, which has any.
  std::vector<int> operator()() && {
    search(0, last());
    return std::move(found_);
  }

 private:
  int last() const { return static_cast<int>(skips_.size()) - 1; }
  bool complete() const { return static_cast<int>(found_.size()) == last(); }
  /// The nearest rank that may be taken in this round, or so many rounds ahead.
  int limit(int ahead) const { return target_ - skips_[found_.size() + ahead]; }

  void search(int sum, int largest) {
    for (int e = largest; e >= 0; --e) {
      const int next = sum + skips_[e];
      if ((used_ >> e & 1) != 0 || next > limit(0) || next >= bound_) continue;
      if (next <= limit(1)) search(next, e - 1);
      if (complete() || sum > limit(1)) return;
      bound_ = next;
      used_ |= 1u << e;
      found_.push_back(e);
      if (complete()) return;
    }
  }

  const std::vector<int>& skips_;
  std::uint32_t used_;  // a bit for each skip: there are at most 32
  std::vector<int> found_;
  int target_;
  int bound_;  // the rank of the round before
};

}  // namespace

CirculantBroadcast::CirculantBroadcast(int p) : skips_(circulant_skips(p)) {}

int CirculantBroadcast::base_block(int rank) const {
  for (int k = phase() - 1; k >= 0; --k) {
    if (skips_[k] == rank) return k;
    if (skips_[k] < rank) rank -= skips_[k];
  }
  return phase();
}

std::vector<int> CirculantBroadcast::phase_of(int rank) const {
  const int base = base_block(rank);
  std::vector<int> blocks = Search(skips_, rank, base)();
  for (int& block : blocks) block = block == phase() ? base : block - phase();
  return blocks;
}

// The last phase is whole.
int CirculantBroadcast::start(int blocks) const { return (phase() - count(blocks) % phase()) % phase(); }

std::vector<int> CirculantBroadcast::receives(int rank, int blocks) const {
  std::vector<int> received(count(blocks), -1);
  if (rank == 0) return received;
  const std::vector<int> first_phase = phase_of(rank);
  const int q = phase(), first = start(blocks);
  bool has_last = false;
  for (int i = 0; i < count(blocks); ++i) {
    const int block = first_phase[(first + i) % q] + (first + i) / q * q - first;
    if (block < 0 || (block >= blocks - 1 && has_last)) continue;  // blocks from the last one on stand for the last
    has_last |= block >= blocks - 1;
    received[i] = std::min(block, blocks - 1);
  }
  return received;
}

std::vector<CirculantRound> CirculantBroadcast::rounds(int rank, int blocks) const {
  const int p = skips_.back(), q = phase();
  if (p == 1) return {};
  const int first = start(blocks);
  const std::vector<int> mine = receives(rank, blocks);
  std::vector<CirculantRound> found;
  found.reserve(mine.size());
  for (int i = 0; i < count(blocks); ++i) found.push_back({skips_[(first + i) % q], -1, mine[i]});
  for (int k = 0; k < q; ++k) {  // what the rank at this skip receives, from all of its senders
    const std::vector<int> theirs = receives((rank + skips_[k]) % p, blocks);
    for (int i = (k - first + q) % q; i < count(blocks); i += q) found[i].sent = theirs[i];
  }
  return found;
}

}  // namespace omnes::inline algorithms
