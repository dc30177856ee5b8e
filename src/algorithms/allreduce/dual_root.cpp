// Allreduce, doubly pipelined and dual-root: the lower and the upper half of the ranks each have a binary tree;
// segments flow up both, the two roots exchange and combine theirs, and the results flow down while later segments
// still go up. No rank waits for the whole message to turn around, and the depth is that of trees over p/2 ranks.
//
// How: trees are numbered in post-order: a rank's subtree is a range of ranks that ends with it, first the left
// child's, then the right child's. So the operand order holds, and rank p/2 - 1 and rank p - 1 are the roots.
#include "algorithms/registry.hpp"
#include "algorithms/trees.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

/// Over the ranks first..last. Children in ascending order: left, right.
Tree post_order_tree(int rank, int first, int last) {
  Tree tree;
  while (true) {  // `last` heads the range; the left subtree ends before `middle`
    const int middle = first + (last - first + 1) / 2;
    if (rank == last) {
      if (first < middle) tree.children.push_back(middle - 1);
      if (middle < last) tree.children.push_back(last - 1);
      return tree;
    }
    tree.parent = last;
    if (rank < middle) {
      last = middle - 1;
    } else {
      first = middle;
      --last;
    }
  }
}

void build(Builder& b) {
  b.cut(b.segments());
  const int p = b.p(), rank = b.rank(), half = p / 2;
  const bool lower = rank < half;
  const Tree tree = lower ? post_order_tree(rank, 0, half - 1) : post_order_tree(rank, half, p - 1);
  const bool meets = p > 1 && tree.parent < 0;
  const int other = lower ? p - 1 : half - 1;
  const Blocks result = recv_blocks(0, b.pieces());
  // What a root sends to the other must stay while the result forms.
  const Blocks sums = meets && (b.problem().in_place || !tree.children.empty()) ? b.temp(b.pieces()) : result;

  for (int s = 0; s < b.pieces(); ++s) {
    Blocks sum = sub(b.own(), s);
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
      b.recv_reduce_first(*child, sum, sub(sums, s));
      sum = sub(sums, s);
    }
    if (tree.parent >= 0) {
      b.send(tree.parent, sum);
    } else if (!meets) {
      b.copy(sum, sub(result, s));
    } else {
      if (sum == sub(result, s)) {  // in place, a root without children
        sum = sub(sums, s);
        b.copy(sub(result, s), sum);
      }
      b.send(other, sum);
      if (lower)
        b.recv_reduce(other, sum, sub(result, s));
      else
        b.recv_reduce_first(other, sum, sub(result, s));
    }
  }
  for (int s = 0; s < b.pieces(); ++s) {
    if (tree.parent >= 0) b.recv(tree.parent, sub(result, s));
    b.send(tree.children, sub(result, s));
  }
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "dual_root",
    .summary = "up and down two binary trees whose roots exchange, segments pipelined",
    .source = "Träff 2021",
    .build = build,
    .segmented = true,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
