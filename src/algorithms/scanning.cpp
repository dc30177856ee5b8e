// Prefix sums by doubling, and the tree of the sweeps.
#include "algorithms/scanning.hpp"

#include <utility>

namespace omnes {

void scan_doubling(Builder& b, int first, Blocks own) {
  const int p = b.p(), rank = b.rank();
  int incoming = 0;
  for (int d = 1; rank - d >= first; d *= 2) ++incoming;
  // Sums alternate between `recv` and a temporary, so that the last lands in `recv` and none is overwritten while it is
  // being sent.
  const Blocks result = recv_blocks(0), spare = b.temp(incoming > 1 || (incoming == 1 && own == result) ? 1 : 0);
  Blocks here = incoming % 2 == 0 ? result : spare, next = incoming % 2 == 0 ? spare : result;
  Blocks sum = own;
  if (incoming > 0 && sum == next) {
    b.copy(sum, here);
    sum = here;
  }
  for (int d = 1; rank - d >= first || rank + d < p; d *= 2) {
    if (rank + d < p) b.send(rank + d, sum);
    if (rank - d < first) continue;
    b.recv_reduce_first(rank - d, sum, next);
    sum = next;
    std::swap(here, next);
  }
  b.copy(sum, result);
}

Sweeps::Sweeps(int rank, int p) {
  const int lowest = (rank + 1) & -(rank + 1);
  for (int d = 1; d < lowest; d *= 2) below.push_back(rank - d);
  if (rank + lowest < p) up = rank + lowest;
  if (rank - lowest >= 0) before = rank - lowest;
  for (int d = lowest / 2; d > 0; d /= 2)
    if (rank + d < p) above.push_back(rank + d);
}

}  // namespace omnes
