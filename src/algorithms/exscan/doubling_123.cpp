// Exscan, 123-doubling: ranks pass sums on at distance 1, 2, 3, 6, 12, ...: for about half of all p, those just above a
// power of two, one round less than recursive_doubling, and never more. Somebody may have one reduction more.
//
// How. First every rank passes its contribution to the next one; then what it got and its contribution together to the
// rank 2 above, so that each has the sum of the 3 ranks below it. From then on sums are exclusive: in the round at
// distance d each is of the d ranks below, and spans 2d when that of the rank d below comes on its left. Who has all
// lower ranks receives no more.
// Source: Träff 2025, "Communication Round and Computation Efficient Exclusive Prefix-Sums Algorithms
// (for MPI_Exscan)".
#include <utility>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  Blocks own = b.own();
  if (rank == 0) {
    for (int to = 1; to <= 2 && to < p; ++to) b.send(to, own);
    return;
  }
  if (b.problem().in_place && rank + 1 < p) {  // the sum goes to its place
    own = b.temp(1);
    b.copy(b.own(), own);
  }
  int incoming = rank > 1 ? 2 : 1;
  for (int d = 3; d < rank; d *= 2) ++incoming;
  // Sums alternate between `recv` and a temporary, so that the last lands in `recv` and none is overwritten while it is
  // being sent.
  const Blocks result = recv_blocks(0), spare = b.temp(incoming > 1 ? 1 : 0);
  Blocks sum = incoming % 2 != 0 ? result : spare, next = incoming % 2 != 0 ? spare : result;
  const auto take_from = [&](int lower) {
    b.recv_reduce_first(lower, sum, next);
    std::swap(sum, next);
  };

  if (rank + 1 < p) b.send(rank + 1, own);
  b.recv(rank - 1, sum);
  if (rank + 2 < p) {
    const Blocks with_own = b.temp(1);
    b.reduce(sum, own, with_own);
    b.send(rank + 2, with_own);
  }
  if (rank > 1) take_from(rank - 2);
  for (int d = 3; d < rank || rank + d < p; d *= 2) {
    if (rank + d < p) b.send(rank + d, sum);
    if (d < rank) take_from(rank - d);
  }
}

const Register registered{{
    .operation = Operation::exscan,
    .name = "doubling_123",
    .summary = "sums of lower ranks move up at distance 1, 2, 3, 6, 12, ...",
    .source = "Träff 2025",
    .build = build,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
