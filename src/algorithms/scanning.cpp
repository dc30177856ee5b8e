// Prefix sums by doubling, and the tree of the sweeps.
#include "algorithms/scanning.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace omnes::inline algorithms {

void scan_doubling(Builder& b, Line line, Blocks own) {
  const int rank = b.rank(), first = line.first, end = line.end;
  int incoming = 0;
  for (int d = line.stride; rank - d >= first; d *= 2) ++incoming;
  // Sums alternate between `recv` and a temporary, so that the last lands in `recv` and none is overwritten while it is
  // being sent.
  const Blocks result = recv_blocks(0), spare = b.temp(incoming > 1 || (incoming == 1 && own == result) ? 1 : 0);
  Blocks here = incoming % 2 == 0 ? result : spare, next = incoming % 2 == 0 ? spare : result;
  Blocks sum = own;
  if (incoming > 0 && sum == next) {
    b.copy(sum, here);
    sum = here;
  }
  for (int d = line.stride; rank - d >= first || rank + d < end; d *= 2) {
    if (rank + d < end) b.send(rank + d, sum);
    if (rank - d < first) continue;
    b.recv_reduce_first(rank - d, sum, next);
    sum = next;
    std::swap(here, next);
  }
  b.copy(sum, result);
}

void scan_grouped(Builder& b, int first, int k, Blocks own) {
  OMNES_ASSERT((first == 0 || first == 1) && k >= 2 && b.rank() >= first);
  const int p = b.p(), rank = b.rank(), group = rank / k;
  const int begin = std::max(first, group * k), end = std::min(p, (group + 1) * k);
  const int below_last = (p - 1) / k * k;  // end of the groups that others need the sums of
  const Blocks result = recv_blocks(0);
  scan_doubling(b, {begin, end}, own);
  const bool hands_on = end <= below_last && rank == end - 1;
  if (hands_on) {
    scan_doubling(b, {k - 1, below_last, k}, result);
    b.send(end, result);
  }
  if (group == 0 || hands_on) return;
  if (rank > begin) return b.recv_reduce_first(begin, result, result);
  std::vector<std::int32_t> others;  // the last rank has the sum, where it hands it on
  for (int other = begin + 1; other < (end <= below_last ? end - 1 : end); ++other) others.push_back(other);
  if (others.empty()) return b.recv_reduce_first(begin - 1, result, result);
  const Blocks lower = b.temp(1);
  b.recv(begin - 1, lower);
  b.send(others, lower);
  b.reduce(lower, result, result);
}

Blocks shift_up(Builder& b) {
  const int rank = b.rank();
  const Blocks received = b.temp(rank > 0 ? 1 : 0);
  if (rank + 1 < b.p()) b.send(rank + 1, b.own());
  if (rank > 0) b.recv(rank - 1, received);
  return received;
}

Sweeps::Sweeps(int rank, int p) {
  const int lowest = (rank + 1) & -(rank + 1);
  for (int d = 1; d < lowest; d *= 2) below.push_back(rank - d);
  if (rank + lowest < p) up = rank + lowest;
  if (rank - lowest >= 0) before = rank - lowest;
  for (int d = lowest / 2; d > 0; d /= 2)
    if (rank + d < p) above.push_back(rank + d);
}

}  // namespace omnes::inline algorithms
