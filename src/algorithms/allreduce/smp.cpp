// Allreduce for nodes of k consecutive ranks: up a binomial tree of each node to its first rank, recursive doubling
// among these, and down the trees again. Nodes are ranges of ranks, so the operand order holds.
#include "algorithms/doubling.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/trees.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int k = b.problem().radix;
  const Tree tree = group_tree(b.rank(), b.p(), k);
  const Blocks result = recv_blocks(0);
  Blocks sum = b.own();
  for (const int child : tree.children) {
    b.recv_reduce(child, sum, result);
    sum = result;
  }
  if (tree.parent >= 0) {
    b.send(tree.parent, sum);
    b.recv(tree.parent, result);
  } else {
    allreduce_exchanging(b, sum, exchange_doubling, k);
  }
  b.send(std::vector(tree.children.rbegin(), tree.children.rend()), result);
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "smp",
    .summary = "reduce among k ranks each, recursive doubling among one of each k, then bcast",
    .source = "MPICH (SMP-aware allreduce); in rank order here",
    .build = build,
    .default_radix = 4,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
