// Ranges of places are found from the bits of the place: no state is kept between the rounds.
#include "algorithms/butterfly.hpp"

#include <bit>
#include <numeric>

#include "algorithms/patterns.hpp"
#include "algorithms/swing.hpp"
#include "base/assert.hpp"

namespace omnes::inline algorithms {

namespace {

int log2(int members) {
  OMNES_ASSERT(std::has_single_bit(static_cast<unsigned>(members)));
  return std::countr_zero(static_cast<unsigned>(members));
}

/// The blocks of the places that share all but the lowest `bits` bits with `place`.
Blocks around(Blocks blocks, const std::vector<int>& starts, int place, int bits) {
  const int first = place >> bits << bits;
  return sub(blocks, starts[first], starts[first + (1 << bits)] - starts[first]);
}

int itself(int member, int) { return member; }
int reversed(int member, int members) {
  int place = 0;
  for (int bit = 1; bit < members; bit *= 2) place = 2 * place + ((member & bit) != 0);
  return place;
}

}  // namespace

const Butterfly halving_distance = {[](int m, int round, int members) { return m ^ members >> (round + 1); }, itself};
const Butterfly doubling_distance = {[](int m, int round, int) { return m ^ 1 << round; }, reversed};
const Butterfly swing = {alternating_partner, swing_place};

void reduce_scatter_butterfly(Builder& b, const Butterfly& butterfly, const Folding& fold,
                              const std::vector<int>& starts, Blocks own, Blocks into, Blocks last) {
  OMNES_ASSERT(fold.leads(b.rank()) && starts.size() == static_cast<std::size_t>(fold.members) + 1);
  const int member = fold.member(b.rank()), place = butterfly.place(member, fold.members);
  Blocks sum = own;
  for (int bits = log2(fold.members) - 1, round = 0; bits >= 0; --bits, ++round) {
    const int peer = fold.leader(butterfly.peer(member, round, fold.members));
    const Blocks to = bits == 0 ? last : around(into, starts, place, bits);
    b.send(peer, around(sum, starts, place ^ 1 << bits, bits));
    recv_reduce_in_order(b, peer, around(sum, starts, place, bits), to);
    sum = into;
  }
  if (fold.members == 1) b.copy(around(own, starts, 0, 0), last);
}

void allgather_butterfly(Builder& b, const Butterfly& butterfly, const Folding& fold, const std::vector<int>& starts,
                         Blocks blocks) {
  const int member = fold.member(b.rank()), place = butterfly.place(member, fold.members);
  const int rounds = log2(fold.members);
  for (int bits = 0; bits < rounds; ++bits) {
    const int peer = fold.leader(butterfly.peer(member, rounds - 1 - bits, fold.members));
    b.send(peer, around(blocks, starts, place, bits));
    b.recv(peer, around(blocks, starts, place ^ 1 << bits, bits));
  }
}

void reduce_scatter_along(Builder& b, const Butterfly& butterfly) {
  const int p = b.p(), rank = b.rank();
  const Folding fold(p);
  const int partner = fold.partner(rank);
  const Blocks contribution = b.part(Buffer::send, 0, p);
  if (only_follows(b, fold, contribution, recv_blocks(0))) return;

  std::vector<int> starts, member_at(fold.members);
  for (int member = 0; member < fold.members; ++member) member_at[butterfly.place(member, fold.members)] = member;
  std::vector<std::int32_t> parts;  // in the order of places
  for (const int member : member_at) {
    starts.push_back(static_cast<int>(parts.size()));
    parts.push_back(fold.leader(member));
    if (member < fold.pairs) parts.push_back(fold.leader(member) + 1);
  }
  starts.push_back(p);

  Blocks own = contribution;
  if (partner >= 0) {
    own = b.temp(p);
    recv_reduce_in_order(b, partner, contribution, own);
  }
  Blocks sum = own;
  if (sum == contribution || butterfly.place != itself) sum = b.temp_like(parts);
  if (butterfly.place != itself) {
    for (int first = 0, i = 1; i <= p; ++i)  // consecutive parts together
      if (i == p || parts[i] != parts[i - 1] + 1) {
        b.copy(sub(own, parts[first], i - first), sub(sum, first, i - first));
        first = i;
      }
    own = sum;
  }
  const Blocks mine = around(sum, starts, butterfly.place(fold.member(rank), fold.members), 0);
  reduce_scatter_butterfly(b, butterfly, fold, starts, own, sum, partner < 0 ? recv_blocks(0) : mine);
  if (partner < 0) return;
  b.send(partner, sub(mine, 1));
  b.copy(sub(mine, 0), recv_blocks(0));
}

void allreduce_along(Builder& b, const Butterfly& butterfly) {
  const Folding fold(b.p());
  b.cut(fold.members);
  std::vector<int> starts(fold.members + 1);
  std::iota(starts.begin(), starts.end(), 0);
  const Blocks result = recv_blocks(0, b.pieces());
  const int partner = fold.partner(b.rank());
  if (only_follows(b, fold, b.own(), result)) return;
  Blocks own = b.own();
  if (partner >= 0) {
    recv_reduce_in_order(b, partner, own, result);
    own = result;
  }
  const int place = butterfly.place(fold.member(b.rank()), fold.members);
  reduce_scatter_butterfly(b, butterfly, fold, starts, own, result, sub(result, place));
  allgather_butterfly(b, butterfly, fold, starts, result);
  if (partner >= 0) b.send(partner, result);
}

}  // namespace omnes::inline algorithms
