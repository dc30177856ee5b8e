// Bcast, double binary tree: each half of the message flows down a tree of its own, whose inner ranks are the leaves of
// the other. So every rank receives the message once and sends it at most once, where inner ranks of a single binary
// tree send it twice. Counted from the root, all ranks lie on one side of it: it sends the message once, too.
#include "algorithms/double_tree.hpp"

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  b.cut(2 * b.segments());
  double_flow_down(b, b.root(), recv_blocks(0, b.pieces()));
}

const Register registered{{
    .operation = Operation::bcast,
    .name = "double_tree",
    .summary = "halves of the message down two binary trees, segments pipelined",
    .source = "Sanders, Speck, Träff 2009",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
