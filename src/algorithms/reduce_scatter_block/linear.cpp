// Reduce_scatter, linear: everybody sends every rank its part, and every rank combines what arrives in rank order. One round, nothing is
// forwarded.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(b.segments());
  for (int s = 0; s < b.pieces(); ++s)
    reduce_scatter_from_left(b, [&](int to) { return sub(b.part(Buffer::send, to), s); }, recv_blocks(s));
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "linear",
    .summary = "everybody sends to everybody, every rank combines its part in rank order",
    .source = "first half of oneCCL's nreduce; in rank order here",
    .build = build,
    .segmented = true,
    .ordered = true,
    .from_left = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
