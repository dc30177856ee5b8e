// Allreduce, all to all: everybody publishes its contribution and combines all of them in rank order. One round:
// nothing beats it for tiny messages in shared memory. Same bits as linear.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(b.segments());
  for (int s = 0; s < b.pieces(); ++s) {
    // In place, the result overwrites the contribution while others may still be reading it.
    const Blocks own = b.problem().in_place && b.p() > 1 ? b.temp(1, s) : sub(b.own(), s);
    b.copy(sub(b.own(), s), own);
    b.publish(own);
    reduce_from_left(b, own, recv_blocks(s), true);
  }
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "all_to_all",
    .summary = "everybody publishes, everybody combines in rank order",
    .source = "folklore; the one-round form of Romanyuta, Kurnosov 2023's flat operations",
    .build = build,
    .segmented = true,
    .ordered = true,
    .from_left = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
