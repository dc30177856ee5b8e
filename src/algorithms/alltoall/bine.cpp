// Alltoall, Bine butterfly: ceil(log2(p)) rounds for even p, in which every rank exchanges about half of its parts with
// one partner, at the distances 1, 1, 3, 5, 11, ...
//
// How. As in Bruck's algorithm, each part has a way of its own, some of the rounds 0, 1, 2, ..., and moves to the
// partner of whoever has it in each of them; all parts that move in a round travel packed, from two areas in turn.
// Where parts lie is only noted (`at`): at the end every part is copied once to its place.
// Why it is correct. In each round ranks swap places in pairs, so any way leads from every rank to another one, and of
// the parts with the same way each rank has one at any time. How far a way leads is a sum of distances, the same from
// all even ranks, and the opposite from all odd ones. That some way leads everywhere is what makes the allgather
// complete (bine.cpp there); of several, the one with the fewest rounds is taken.
#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/alternating.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

/// Where a part that starts at `rank` ends up; a way has bit i set for each round i in which the part moves.
int end_of(int rank, unsigned way, int p) {
  for (int round = 0; way >> round != 0; ++round)
    if ((way >> round & 1) != 0) rank = alternating_partner(rank, round, p);
  return rank;
}

int start_of(int rank, unsigned way, int p) {
  for (int round = std::bit_width(way) - 1; round >= 0; --round)
    if ((way >> round & 1) != 0) rank = alternating_partner(rank, round, p);
  return rank;
}

/// One way to each rank, from rank 0, the shortest.
std::vector<unsigned> ways(int p) {
  const auto all = std::bit_ceil(static_cast<unsigned>(p));
  std::vector<unsigned> found(p, all);
  for (unsigned way = 0; way < all; ++way) {
    unsigned& best = found[end_of(0, way, p)];
    if (best == all || std::popcount(way) < std::popcount(best)) best = way;
  }
  return found;
}

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Buffer source = b.problem().in_place ? Buffer::recv : Buffer::send;
  if (p == 1) return b.copy(b.part(source, 0), b.part(Buffer::recv, 0));
  const std::vector<unsigned> to = ways(p);
  std::vector<Blocks> at;  // the part that is here, for each of the ways
  for (const unsigned way : to) at.push_back(b.part(source, end_of(rank, way, p)));

  std::vector<std::vector<int>> moves(std::bit_width(static_cast<unsigned>(p - 1)));  // ways, for each round
  for (int i = 0; i < p; ++i)
    for (std::size_t round = 0; round < moves.size(); ++round)
      if ((to[i] >> round & 1) != 0) moves[round].push_back(i);
  std::size_t most = 0;
  for (const std::vector<int>& moving : moves) most = std::max(most, moving.size());
  std::vector<Blocks> areas;
  for (int round = 0; round < std::ssize(moves); ++round) {
    const std::vector<int>& moving = moves[round];
    if (round < 2) areas.push_back(b.temp_like(std::vector<std::int32_t>(most, 0)));
    const int count = static_cast<int>(moving.size());
    const Blocks packed = sub(areas[round % 2], 0, count);
    const Blocks arrived = b.temp_like(std::vector<std::int32_t>(count, 0));
    for (int m = 0; m < count; ++m) {
      b.copy(at[moving[m]], sub(packed, m));
      at[moving[m]] = sub(arrived, m);
    }
    const int peer = alternating_partner(rank, round, p);
    b.send(peer, packed);
    b.recv(peer, arrived);
  }
  for (int i = 0; i < p; ++i) b.copy(at[i], b.part(Buffer::recv, start_of(rank, to[i], p)));
}

const Register registered{{
    .operation = Operation::alltoall,
    .name = "bine",
    .summary = "pairs at alternating distance 1, 1, 3, 5, 11, ... exchange half of their parts",
    .source = "De Sensi et al. 2025 (butterfly); ways of parts derived here",
    .build = build,
    .even = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
