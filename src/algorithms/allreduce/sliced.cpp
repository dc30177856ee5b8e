// Allreduce, sliced: every rank is responsible for one slice (1/p) of the message, combines it in rank order
// straight from where the contributions lie, and publishes the result. Two rounds, two messages of traffic per
// rank, the work shared by all. Same bits as linear.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), segments = b.segments();
  b.cut(p * segments);
  for (int s = 0; s < segments; ++s) {
    const auto piece = [&](int slice) { return slice * segments + s; };
    reduce_scatter_from_left(b, [&](int slice) { return sub(b.own(), piece(slice)); }, recv_blocks(piece(rank)));
    b.publish(recv_blocks(piece(rank)));
    for (int i = 1; i < p; ++i) {
      const int from = (rank + i) % p;
      b.recv_published(from, recv_blocks(piece(from)));
    }
  }
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "sliced",
    .summary = "every rank combines one slice in rank order and publishes it",
    .source = "oneCCL (nreduce); in rank order here",
    .build = build,
    .segmented = true,
    .ordered = true,
    .from_left = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
