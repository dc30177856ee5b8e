// Allreduce, recursive doubling: log2(p) rounds in which ranks at distance 1, 2, 4, ... exchange and combine all
// they have.
//
// How: the ranks fold onto a power of two of members; members combine neighbouring ranges, lower ranks on the left
// on both sides, so the order holds and all ranks get the same bits. Partial results alternate between `recv` and a
// temporary, so that the last lands in `recv` and nothing is overwritten while it is being sent.
#include "algorithms/folding.hpp"
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes {
namespace {

void build(Builder& b) {
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
  const int member = fold.member(b.rank());
  for (int distance = 1; distance < fold.members; distance *= 2) {
    const int peer = fold.leader(member ^ distance);
    b.send(peer, sum);
    recv_reduce_in_order(b, peer, sum, next);
    sum = next;
    std::swap(here, next);
  }
  b.copy(sum, result);
  if (partner >= 0) b.send(partner, result);
}

const Algorithm algorithm{
    .operation = Operation::allreduce,
    .name = "recursive_doubling",
    .summary = "pairs at doubling distance exchange and combine",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .ordered = true,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
