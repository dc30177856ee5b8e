// Alltoall, batched: as linear, but with at most k messages out and k in at a time, so that no rank is flooded. A batch
// begins when the one before it is complete.
#include <algorithm>

#include "algorithms/alltoall/source.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), k = std::min(b.problem().radix, p);
  const Blocks outgoing = outgoing_parts(b);
  copy_own_part(b);
  for (int first = 1; first < p; first += k) {
    const int end = std::min(first + k, p);
    b.step();
    for (int i = first; i < end; ++i) {
      const int to = (rank + i) % p;
      b.send(to, sub(outgoing, to));
    }
    for (int i = first; i < end; ++i) {
      const int from = (rank - i + p) % p;
      b.recv(from, b.part(Buffer::recv, from));
    }
  }
}

const Register registered{{
    .operation = Operation::alltoall,
    .name = "batched",
    .summary = "k partners to send to and k to receive from at a time",
    .source = "MPICH, scattered alltoall with a throttle",
    .build = build,
    .default_radix = 8,
    .min_radix = 1,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
