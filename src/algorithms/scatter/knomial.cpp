// Scatter, k-nomial tree: every inner rank gets the parts of its whole subtree and hands them down. About log_k(p)
// rounds.
//
// A subtree is a range of vranks. In an inner rank's temporary its parts lie in vrank order; at the root in rank
// order, so the range may wrap around there: then it travels as two messages, which root and receiver split alike.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes {
namespace {

void build(Builder& b) {
  const int p = b.p(), v = b.vrank(), k = b.problem().radix;
  const Tree tree = knomial_tree(v, p, k);
  const std::vector<std::int32_t> children(tree.children.rbegin(), tree.children.rend());  // the largest subtree first
  const Blocks own = b.part(Buffer::recv, 0);
  if (v == 0) {
    for (const int child : children)
      cyclic_runs(b.real(child), knomial_extent(child, p, k), p,
                  [&](int first, int n) { b.send(b.real(child), b.part(Buffer::send, first, n)); });
    if (!b.problem().in_place) b.copy(b.part(Buffer::send, b.rank()), own);
    return;
  }
  const std::vector<std::int32_t> sizes(knomial_extent(v, p, k), 0);
  const Blocks subtree = children.empty() ? own : b.temp_like(sizes);
  int received = 0;
  const auto take = [&](int, int n) {
    b.recv(b.real(tree.parent), sub(subtree, received, n));
    received += n;
  };
  if (tree.parent == 0)
    cyclic_runs(b.rank(), subtree.count, p, take);
  else
    take(b.rank(), subtree.count);
  for (const int child : children) b.send(b.real(child), sub(subtree, child - v, knomial_extent(child, p, k)));
  b.copy(sub(subtree, 0), own);
}

const Algorithm algorithm{
    .operation = Operation::scatter,
    .name = "knomial",
    .summary = "k-nomial tree, subtrees travel together",
    .source = "binomial scatter, generalised: Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .default_radix = 2,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
