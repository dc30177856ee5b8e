// Reduce, k-nomial tree: about log_k(p) rounds. The tree is rooted at rank 0, whatever the root, so that subtrees
// are ranges of ranks and the operand order holds; rank 0 forwards the segments to the root.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes {
namespace {

void build(Builder& b) {
  b.cut(b.segments());
  const Tree tree = knomial_tree(b.rank(), b.p(), b.problem().radix);
  const bool at_root = b.rank() == b.root();
  Blocks sum = recv_blocks(0, b.pieces());
  if (!at_root) sum = b.temp(tree.children.empty() ? 0 : b.pieces());
  flow_up(b, tree, b.own(), sum);
  if (b.root() == 0) return;
  for (int s = 0; s < b.pieces(); ++s) {
    if (b.rank() == 0) b.send(b.root(), sub(sum, s));
    if (at_root) b.recv(0, recv_blocks(s));
  }
}

const Algorithm algorithm{
    .operation = Operation::reduce,
    .name = "knomial",
    .summary = "k-nomial tree to rank 0, forwarded to the root, segments pipelined",
    .source = "Romanyuta, Kurnosov 2023 (k-nomial Reduce)",
    .build = build,
    .default_radix = 2,
    .segmented = true,
    .ordered = true,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
