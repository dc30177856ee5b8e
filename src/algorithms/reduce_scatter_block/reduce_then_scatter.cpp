// Reduce_scatter as a k-nomial reduce of all parts to rank 0 and a k-nomial scatter from there. Subtrees are ranges of
// ranks, so the operand order holds and every message is one run of parts.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), k = b.problem().radix;
  const Tree tree = knomial_tree(rank, p, k);
  const Blocks all = b.temp(tree.children.empty() ? 0 : p);
  Blocks sum = b.part(Buffer::send, 0, p);
  for (const int child : tree.children) {
    b.recv_reduce(child, sum, all);
    sum = all;
  }
  if (tree.parent >= 0) {
    b.send(tree.parent, sum);
    b.recv(tree.parent, tree.children.empty() ? recv_blocks(0) : sub(all, rank, knomial_extent(rank, p, k)));
  }
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
    b.send(*child, sub(all, *child, knomial_extent(*child, p, k)));
  if (!tree.children.empty() || p == 1) b.copy(sub(sum, rank), recv_blocks(0));
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "reduce_then_scatter",
    .summary = "k-nomial reduce to rank 0, then k-nomial scatter",
    .source = "Open MPI (non-overlapping)",
    .build = build,
    .default_radix = 2,
    .ordered = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
