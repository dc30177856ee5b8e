// Bcast, double binary tree: each half of the message flows down a tree of its own, whose inner ranks are the leaves of
// the other. So every rank receives the message once and sends it at most once, where inner ranks of a single binary
// tree send it twice. Counted from the root, all ranks lie on one side of it: it sends the message once, too.
#include "algorithms/double_tree.hpp"

#include <array>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) {
  const int p = b.p(), v = b.vrank(), segments = b.segments();
  b.cut(2 * segments);
  const std::array trees = {double_tree(v, p, 0, 0), double_tree(v, p, 0, 1)};
  for (int s = 0; s < segments; ++s)
    for (int which = 0; which < 2; ++which) {
      const Blocks segment = recv_blocks(which * segments + s);
      std::vector<std::int32_t> children;
      for (const int child : trees[which].children) children.push_back(b.real(child));
      if (trees[which].parent >= 0) b.recv(b.real(trees[which].parent), segment);
      b.send(children, segment);
    }
}

const Register registered{{
    .operation = Operation::bcast,
    .name = "double_tree",
    .summary = "halves of the message down two binary trees, segments pipelined",
    .source = "Sanders, Speck, Träff 2009",
    .build = build,
    .segmented = true,
}};

}  // namespace
}  // namespace omnes::inline algorithms
