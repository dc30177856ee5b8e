// Broadcast of many blocks on a circulant graph: which block a rank receives in which round.
//
// How: with q = ceil(log2(p)), rank r receives in round i from rank r - skip(i mod q) and sends to r + skip(i mod q), the
// skips being those of circulant.hpp. Every rank is a sum of different skips, taken greedily; the smallest
// of them numbers its base block. In each phase of q rounds the root sends q new blocks; a rank receives of these its
// base block alone, and otherwise the base blocks of the ranks below it, of the phase before, each in one round.
// Why it is correct: what a rank sends on it must have received in an earlier round. So the block of round k is the base
// block of the nearest rank at least skip(k) below, nearest first, that has one not taken yet. That there always is one,
// and that a depth-first search over sums of skips finds it, is the paper's theorem.
// Source: Träff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast, All-Broadcast,
// Reduction and All-Reduction", 2024, and earlier versions.
#pragma once

#include <vector>

namespace omnes::inline algorithms {

/// What a rank sends to the rank `skip` above it and receives from the rank `skip` below it: a block, or -1.
struct CirculantRound {
  int skip, sent, received;
};

class CirculantBroadcast {
 public:
  explicit CirculantBroadcast(int p);

  /// The rounds of a broadcast of `blocks` blocks from rank 0; the others receive each block once.
  std::vector<CirculantRound> rounds(int rank, int blocks) const;

 private:
  int phase() const { return static_cast<int>(skips_.size()) - 1; }  // its rounds: ceil(log2(p))
  int count(int blocks) const { return blocks - 1 + phase(); }       // of rounds
  int start(int blocks) const;                                       // the round of a phase with which it begins
  std::vector<int> receives(int rank, int blocks) const;
  int base_block(int rank) const;
  std::vector<int> phase_of(int rank) const;

  std::vector<int> skips_;  // ascending; the last is p
};

}  // namespace omnes::inline algorithms
