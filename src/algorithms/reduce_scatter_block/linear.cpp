// Reduce_scatter, linear: everybody sends every rank its part, and every rank combines what arrives in rank order. One round, nothing is
// forwarded.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), segments = b.segments();
  b.cut(segments);
  for (int s = 0; s < segments; ++s) {
    const auto part_for = [&](int to) { return sub(b.part(Buffer::send, to), s); };
    for (int i = 1; i < p; ++i) {
      const int to = (rank + i) % p;
      b.send(to, part_for(to));
    }
    reduce_from_left(b, part_for(rank), recv_blocks(s));
  }
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

}  // namespace
}  // namespace omnes::inline algorithms
