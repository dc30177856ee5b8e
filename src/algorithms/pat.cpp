// The order of offsets, and the runs that a round moves.
#include "algorithms/pat.hpp"

#include <bit>
#include <functional>

namespace omnes::inline algorithms {

namespace {

/// Offsets 0..p-1 in bit-reversed order: those that a distance d adds follow all multiples of 2d, in the same order.
std::vector<std::int32_t> offsets(int p) {
  std::vector<std::int32_t> order{0};
  for (int d = static_cast<int>(std::bit_floor(static_cast<unsigned>(p))); d > 0; d /= 2)
    for (std::size_t i = 0, n = order.size(); i < n; ++i)
      if (order[i] + d < p) order.push_back(order[i] + d);
  return order;
}

/// Calls run(near, far, n) for the runs of places that the round at distance d moves: `far` of the rank with the larger
/// offsets are `near` of the other.
void runs(const std::vector<std::int32_t>& order, int d, const std::function<void(int near, int far, int n)>& run) {
  const int p = static_cast<int>(order.size());
  const int multiples = (p + 2 * d - 1) / (2 * d), moved = (p + d - 1) / d - multiples;
  int hole = 0;  // the place whose counterpart would be beyond p
  while (hole < multiples && order[hole] + d < p) ++hole;
  if (hole > 0) run(0, multiples, hole);
  if (moved > hole) run(hole + 1, multiples + hole, moved - hole);
}

}  // namespace

std::vector<std::int32_t> pat_parts(int rank, int p) {
  std::vector<std::int32_t> parts = offsets(p);
  for (std::int32_t& part : parts) part = (rank - part + p) % p;
  return parts;
}

void reduce_scatter_pat(Builder& b, Blocks sums, Blocks last) {
  const int p = b.p(), rank = b.rank();
  const std::vector<std::int32_t> order = offsets(p);
  for (int d = 1; d < p; d *= 2) {
    const int below = (rank - d + p) % p, above = (rank + d) % p;
    runs(order, d, [&](int, int far, int n) { b.send(below, sub(sums, far, n)); });
    runs(order, d, [&](int near, int, int n) {
      b.recv_reduce(above, sub(sums, near, n), 2 * d >= p ? last : sub(sums, near, n));
    });
  }
  if (p == 1) b.copy(sub(sums, 0), last);
}

void allgather_pat(Builder& b, Blocks parts) {
  const int p = b.p(), rank = b.rank();
  const std::vector<std::int32_t> order = offsets(p);
  for (int d = static_cast<int>(std::bit_ceil(static_cast<unsigned>(p))) / 2; d > 0; d /= 2) {
    const int below = (rank - d + p) % p, above = (rank + d) % p;
    runs(order, d, [&](int near, int, int n) { b.send(above, sub(parts, near, n)); });
    runs(order, d, [&](int, int far, int n) { b.recv(below, sub(parts, far, n)); });
  }
}

}  // namespace omnes::inline algorithms
