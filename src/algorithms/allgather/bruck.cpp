// Allgather, Bruck: ceil(log2(p)) rounds for any p. In the round of distance d every rank takes the d parts that
// the rank d to its right has.
//
// The original works on a rotated copy and turns it back at the end. Here parts go straight to their final places:
// those that a rank has are consecutive modulo p, and where they wrap around they travel as two messages, which
// sender and receiver split alike.
#include <algorithm>

#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes {
namespace {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const auto parts = [&](int first, int n) { return b.part(Buffer::recv, first, n); };
  for (int distance = 1; distance < p; distance *= 2) {
    const int count = std::min(distance, p - distance);
    const int left = (rank - distance + p) % p, right = (rank + distance) % p;
    if (distance == 1) {
      b.send(left, b.own());
      b.copy(b.own(), parts(rank, 1));
    } else {
      cyclic_runs(rank, count, p, [&](int first, int n) { b.send(left, parts(first, n)); });
    }
    cyclic_runs(right, count, p, [&](int first, int n) { b.recv(right, parts(first, n)); });
  }
  if (p == 1) b.copy(b.own(), parts(rank, 1));
}

const Algorithm algorithm{
    .operation = Operation::allgather,
    .name = "bruck",
    .summary = "doubling distance on a circle, any number of ranks",
    .source = "Bruck et al. 1997",
    .build = build,
    .unequal = true,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
