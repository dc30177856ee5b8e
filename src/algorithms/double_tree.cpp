// The two trees by bit tricks, and a message that goes both ways.
#include "algorithms/double_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "algorithms/patterns.hpp"

namespace omnes::inline algorithms {

namespace {

int power_below(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); }

/// Positions 1..n in order, each as high as it has trailing zero bits, hung below position 0.
Tree ruler_tree(int position, int n) {
  Tree tree;
  if (position == 0) {
    if (n > 0) tree.children.push_back(power_below(n));
    return tree;
  }
  const int bit = position & -position;
  const int above = (position ^ bit) | (2 * bit);
  tree.parent = above <= n ? above : position ^ bit;
  if (bit > 1) tree.children.push_back(position - bit / 2);
  const int right = std::min(bit - 1, n - position);  // ranks in the right subtree
  if (right > 0) tree.children.push_back(position + power_below(right));
  return tree;
}

/// The ranks below the root, or those above it, and their positions in one of the trees.
struct Side {
  int first, n;
  bool mirrored, lowered;

  Side(int first_rank, int count, int which)
      : first(first_rank), n(count), mirrored(which == 1 && count % 2 == 0), lowered(which == 1 && count % 2 != 0) {}

  int last() const { return lowered ? n - 1 : n; }
  int top() const { return lowered ? 0 : power_below(n); }
  int position(int rank) const { return mirrored ? first + n - rank : rank - first + (lowered ? 0 : 1); }
  int rank(int position) const { return mirrored ? first + n - position : first + position - (lowered ? 0 : 1); }
};

/// Calls run(tree, block) for the blocks of both halves in turns, each with the half's tree.
template <class Run>
void each_block(int rank, int p, int root, int blocks, const Run& run) {
  const int half = blocks / 2;
  const std::array trees = {double_tree(rank, p, root, 0), double_tree(rank, p, root, 1)};
  for (int s = 0; s < half; ++s)
    for (int which = 0; which < 2; ++which) run(trees[which], which * half + s);
}

}  // namespace

Tree double_tree(int rank, int p, int root, int which) {
  const Side below(0, root, which), above(root + 1, p - root - 1, which);
  Tree tree;
  if (rank == root) {
    for (const Side& side : {below, above})
      if (side.n > 0) tree.children.push_back(side.rank(side.top()));
    return tree;
  }
  const Side& side = rank < root ? below : above;
  const int position = side.position(rank);
  const Tree found = ruler_tree(position, side.last());
  tree.parent = position == side.top() ? root : side.rank(found.parent);
  for (const int child : found.children) tree.children.push_back(side.rank(child));
  std::sort(tree.children.begin(), tree.children.end());
  return tree;
}

void double_flow_up(Builder& b, int root, Blocks own, Blocks into) {
  each_block(b.rank(), b.p(), root, own.count,
             [&](const Tree& tree, int block) { pass_up(b, tree, sub(own, block), sub(into, block)); });
}

void double_flow_down(Builder& b, int root, Blocks blocks) {
  const int p = b.p();
  each_block((b.rank() - root + p) % p, p, 0, blocks.count, [&](const Tree& tree, int block) {
    const auto real = [&](int counted) { return (counted + root) % p; };
    std::vector<std::int32_t> children;
    for (const int child : tree.children) children.push_back(real(child));
    if (tree.parent >= 0) b.recv(real(tree.parent), sub(blocks, block));
    b.send(children, sub(blocks, block));
  });
}

}  // namespace omnes::inline algorithms
