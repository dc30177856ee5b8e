// Pulling from the right means sending to the left.
#include "algorithms/circle.hpp"

#include "algorithms/patterns.hpp"
#include "base/assert.hpp"

namespace omnes::inline algorithms {

void pull_round(Builder& b, std::span<const Pull> pulls) {
  OMNES_ASSERT(!pulls.empty());
  const int p = b.p(), rank = b.rank();
  for (const auto [distance, count] : pulls) {
    const int left = (rank - distance + p) % p;
    if (count == 1)
      b.send(left, b.own());
    else
      cyclic_runs(rank, count, p, [&](int first, int n) { b.send(left, b.part(Buffer::recv, first, n)); });
  }
  if (pulls.front().distance == 1) b.copy(b.own(), b.part(Buffer::recv, rank));
  for (const auto [distance, count] : pulls) {
    const int right = (rank + distance) % p;
    cyclic_runs(right, count, p, [&](int first, int n) { b.recv(right, b.part(Buffer::recv, first, n)); });
  }
}

}  // namespace omnes::inline algorithms
