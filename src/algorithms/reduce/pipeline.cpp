// Reduce, pipeline: one chain to the root from the rank after it on, so that every link, the root's too, carries the
// message once. p - 2 + segments rounds. The order starts at the root: needs a commutative operation.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int v = b.vrank(), p = b.p();  // the root is the last of the chain
  Tree tree;
  if (v != 0) tree.parent = b.real((v + 1) % p);
  if (v != 1 % p) tree.children = {b.real((v + p - 1) % p)};
  reduce_along(b, tree);
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "pipeline",
    .summary = "one chain to the root, segments pipelined",
    .source = "pipelined linear array: Johnsson, Ho 1989",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
