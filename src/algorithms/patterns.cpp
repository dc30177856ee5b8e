// Steps that several algorithms share. Segments are listed one after the other, so that they pipeline.
#include "algorithms/patterns.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace omnes::inline algorithms {

void flow_down(Builder& b, const Tree& tree, int root) {
  const auto real = [&](int v) { return (root + v) % b.p(); };
  std::vector<std::int32_t> children;  // the largest subtree first
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) children.push_back(real(*child));
  for (int s = 0; s < b.pieces(); ++s) {
    if (tree.parent >= 0) b.recv(real(tree.parent), recv_blocks(s));
    b.send(children, recv_blocks(s));
  }
}

void bcast_along(Builder& b, const Tree& tree, int root) {
  b.cut(b.segments());
  flow_down(b, tree, root);
}

void flow_up(Builder& b, const Tree& tree, Blocks own, Blocks into) {
  OMNES_ASSERT(own.count == b.pieces());
  OMNES_ASSERT(into.count == b.pieces() || (tree.children.empty() && tree.parent >= 0));
  for (int s = 0; s < b.pieces(); ++s) pass_up(b, tree, sub(own, s), sub(into, s));
}

void pass_up(Builder& b, const Tree& tree, Blocks own, Blocks into) {
  Blocks sum = own;
  for (const int child : tree.children) {
    recv_reduce_in_order(b, child, sum, into);
    sum = into;
  }
  if (tree.parent >= 0)
    b.send(tree.parent, sum);
  else
    b.copy(sum, into);
}

void reduce_along(Builder& b, const Tree& tree) {
  b.cut(b.segments());
  const bool at_root = b.rank() == b.root();
  const Blocks sum = at_root ? recv_blocks(0, b.pieces()) : b.temp(tree.children.empty() ? 0 : b.pieces());
  flow_up(b, tree, b.own(), sum);
  for (int s = 0; s < b.pieces(); ++s) {
    if (tree.parent < 0 && !at_root) b.send(b.root(), sub(sum, s));
    if (tree.parent >= 0 && at_root) b.recv(0, recv_blocks(s));
  }
}

void recv_reduce_in_order(Builder& b, int from, Blocks a, Blocks into) {
  if (from < b.rank())
    b.recv_reduce_first(from, a, into);
  else
    b.recv_reduce(from, a, into);
}

void reduce_from_left(Builder& b, Blocks own, Blocks into, bool published) {
  reduce_from_left(b, {0, b.p()}, own, into, published);
}

void reduce_from_left(Builder& b, Range group, Blocks own, Blocks into, bool published) {
  const int rank = b.rank(), first = group.first;
  Blocks sum = own;
  if (rank == first + 1) {
    b.recv_reduce_first(first, own, into, published);
    sum = into;
  } else if (rank > first + 1) {
    const Blocks below = own == into ? b.temp(into.count, into.first) : into;
    b.recv(first, below, published);
    for (int from = first + 1; from < rank; ++from) b.recv_reduce(from, below, below, published);
    b.reduce(below, own, into);
    sum = into;
  }
  for (int from = rank + 1; from < first + group.count; ++from) {
    b.recv_reduce(from, sum, into, published);
    sum = into;
  }
  b.copy(sum, into);
}

void reduce_scatter_from_left(Builder& b, const std::function<Blocks(int rank)>& part, Blocks into) {
  for (int i = 1; i < b.p(); ++i) {
    const int to = (b.rank() + i) % b.p();
    b.send(to, part(to));
  }
  reduce_from_left(b, part(b.rank()), into);
}

void cyclic_runs(int first, int count, int p, const std::function<void(int first, int n)>& run) {
  OMNES_ASSERT(first >= 0 && count >= 0 && count <= p);
  first %= p;
  const int straight = std::min(count, p - first);
  if (straight > 0) run(first, straight);
  if (count > straight) run(0, count - straight);
}

}  // namespace omnes::inline algorithms
