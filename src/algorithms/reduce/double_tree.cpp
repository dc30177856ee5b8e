// Reduce, double binary tree: each half of the message flows up a tree of its own, whose inner ranks are the leaves of
// the other, so that all ranks send and receive alike.
#include "algorithms/double_tree.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(2 * b.segments());
  const auto inner = [&](int which) { return !double_tree(b.rank(), b.p(), b.root(), which).children.empty(); };
  Blocks sum = recv_blocks(0, b.pieces());
  if (b.rank() != b.root()) sum = b.temp(inner(0) || inner(1) ? b.pieces() : 0);
  double_flow_up(b, b.root(), b.own(), sum);
}

const Register registered{{
    .operation = Operation::reduce,
    .name = "double_tree",
    .summary = "halves of the message up two binary trees, segments pipelined",
    .source = "Sanders, Speck, Träff 2009",
    .build = build,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
