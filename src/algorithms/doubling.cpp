// Partial results alternate between `recv` and a temporary, so that the last lands in `recv` and nothing is overwritten
// while it is being sent.
#include "algorithms/doubling.hpp"

#include <utility>

namespace omnes {

void allreduce_exchanging(Builder& b, Exchange (*exchange)(int member, int round, int members)) {
  const Folding fold(b.p());
  const int partner = fold.partner(b.rank());
  const Blocks result = recv_blocks(0);
  if (!fold.leads(b.rank())) {
    b.send(partner, b.own());
    b.recv(partner, result);
    return;
  }
  const int rounds = std::countr_zero(static_cast<unsigned>(fold.members));
  const Blocks spare = b.temp(rounds > 0 ? 1 : 0);
  Blocks here = rounds % 2 == 0 ? result : spare, next = rounds % 2 == 0 ? spare : result;
  Blocks sum = b.own();
  if (partner >= 0) {
    b.recv_reduce(partner, sum, here);
    sum = here;
  } else if (sum == next) {  // in place, an odd number of rounds
    b.copy(sum, here);
    sum = here;
  }
  for (int round = 0; round < rounds; ++round) {
    const auto [other, is_left] = exchange(fold.member(b.rank()), round, fold.members);
    const int peer = fold.leader(other);
    b.send(peer, sum);
    if (is_left)
      b.recv_reduce_first(peer, sum, next);
    else
      b.recv_reduce(peer, sum, next);
    sum = next;
    std::swap(here, next);
  }
  b.copy(sum, result);
  if (partner >= 0) b.send(partner, result);
}

}  // namespace omnes
