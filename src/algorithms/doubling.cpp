// Partial results alternate between `recv` and a temporary, so that the last lands in `recv` and nothing is overwritten
// while it is being sent.
#include "algorithms/doubling.hpp"

#include <utility>

namespace omnes::inline algorithms {

Exchange exchange_doubling(int member, int round, int) {
  const int other = member ^ 1 << round;
  return {other, other < member};
}

void allreduce_exchanging(Builder& b, Blocks own, Exchange (*exchange)(int member, int round, int members), int every) {
  const Folding fold((b.p() + every - 1) / every);
  const int self = b.rank() / every, partner = fold.partner(self);
  const Blocks result = recv_blocks(0);
  if (!fold.leads(self)) {
    b.send(partner * every, own);
    b.recv(partner * every, result);
    return;
  }
  const int rounds = std::countr_zero(static_cast<unsigned>(fold.members));
  const Blocks spare = b.temp(rounds > 0 ? 1 : 0);
  Blocks here = rounds % 2 == 0 ? result : spare, next = rounds % 2 == 0 ? spare : result;
  Blocks sum = own;
  if (partner >= 0) {
    b.recv_reduce(partner * every, sum, here);
    sum = here;
  } else if (sum == next) {  // in place, an odd number of rounds
    b.copy(sum, here);
    sum = here;
  }
  for (int round = 0; round < rounds; ++round) {
    const auto [other, is_left] = exchange(fold.member(self), round, fold.members);
    const int peer = fold.leader(other) * every;
    b.send(peer, sum);
    if (is_left)
      b.recv_reduce_first(peer, sum, next);
    else
      b.recv_reduce(peer, sum, next);
    sum = next;
    std::swap(here, next);
  }
  b.copy(sum, result);
  if (partner >= 0) b.send(partner * every, result);
}

}  // namespace omnes::inline algorithms
