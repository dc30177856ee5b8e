// Gather, linear with synchronisation: nobody sends before the root asks, and it asks k ranks at a time, so that it is
// not flooded. A batch begins when the one before it is complete.
#include <algorithm>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), k = std::min(b.problem().radix, p);
  const Blocks token;
  if (b.vrank() != 0) {
    b.recv(b.root(), token);
    b.step();
    return b.send(b.root(), b.own());
  }
  b.copy(b.own(), b.part(Buffer::recv, b.rank()));
  for (int first = 1; first < p; first += k) {
    std::vector<std::int32_t> batch;
    for (int v = first; v < std::min(first + k, p); ++v) batch.push_back(b.real(v));
    if (first > 1) b.step();
    b.send(batch, token);
    for (const int from : batch) b.recv(from, b.part(Buffer::recv, from));
  }
}

const Register registered{{
    .operation = Operation::gather,
    .name = "linear_sync",
    .summary = "everybody sends to the root, which asks k ranks at a time",
    .source = "Open MPI (linear with synchronisation); batches are ours",
    .build = build,
    .default_radix = 8,
    .min_radix = 1,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
