// Allreduce, linear: rank 0 combines all contributions in rank order and publishes the result.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(b.segments());
  for (int s = 0; s < b.pieces(); ++s) {
    if (b.rank() == 0) {
      reduce_from_left(b, sub(b.own(), s), recv_blocks(s));
      b.publish(recv_blocks(s));
    } else {
      b.send(0, sub(b.own(), s));
      b.recv_published(0, recv_blocks(s));
    }
  }
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "linear",
    .summary = "rank 0 combines in rank order and publishes the result",
    .source = "Romanyuta, Kurnosov 2023 (flat Reduce, then flat Bcast)",
    .build = build,
    .segmented = true,
    .ordered = true,
    .from_left = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
