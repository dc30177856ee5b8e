// Allreduce, double binary tree: each half of the message flows up a tree of its own to rank 0 and down again, segment
// by segment, so that both directions overlap.
#include "algorithms/double_tree.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(2 * b.segments());
  const Blocks result = recv_blocks(0, b.pieces());
  double_flow_up(b, 0, b.own(), result);
  double_flow_down(b, 0, result);
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "double_tree",
    .summary = "halves of the message up two binary trees to rank 0 and down again, segments pipelined",
    .source = "Sanders, Speck, Träff 2009",
    .build = build,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
