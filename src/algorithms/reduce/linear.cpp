// Reduce, linear: everybody sends to the root, which combines straight from where the contributions lie.
//
// The root takes them in the order 0, 1, ..., p-1, so any operation is served, and the association, from the left,
// is the same for any root and any p (the source takes p-1, ..., 0: as good for the order, but then no other
// algorithm would give the same bits).
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(b.segments());
  for (int s = 0; s < b.pieces(); ++s) {
    if (b.vrank() == 0)
      reduce_from_left(b, sub(b.own(), s), recv_blocks(s));
    else
      b.send(b.root(), sub(b.own(), s));
  }
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "linear",
    .summary = "the root combines all contributions in rank order",
    .source = "Romanyuta, Kurnosov 2023 (flat Reduce)",
    .build = build,
    .segmented = true,
    .ordered = true,
    .from_left = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
