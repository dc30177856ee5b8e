// Gather, k-nomial tree: inner ranks collect the parts of their subtree and pass them on together. About log_k(p)
// rounds.
//
// A subtree is a range of vranks. In an inner rank's temporary its parts lie in vrank order; at the root in rank
// order, so the range may wrap around there: then it travels as two messages, which sender and root split alike.
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes {
namespace {

void build(Builder& b) {
  const int p = b.p(), v = b.vrank(), k = b.problem().radix;
  const Tree tree = knomial_tree(v, p, k);
  if (v == 0) {
    b.copy(b.own(), b.part(Buffer::recv, b.rank()));
    for (const int child : tree.children)
      cyclic_runs(b.real(child), knomial_extent(child, p, k), p,
                  [&](int first, int n) { b.recv(b.real(child), b.part(Buffer::recv, first, n)); });
    return;
  }
  Blocks subtree = b.own();
  if (!tree.children.empty()) {
    const std::vector<std::int32_t> sizes(knomial_extent(v, p, k), 0);
    subtree = b.temp_like(sizes);
    b.copy(b.own(), sub(subtree, 0));
    for (const int child : tree.children) b.recv(b.real(child), sub(subtree, child - v, knomial_extent(child, p, k)));
  }
  int sent = 0;
  const auto pass_on = [&](int, int n) {
    b.send(b.real(tree.parent), sub(subtree, sent, n));
    sent += n;
  };
  if (tree.parent == 0)
    cyclic_runs(b.rank(), subtree.count, p, pass_on);
  else
    pass_on(b.rank(), subtree.count);
}

const Algorithm algorithm{
    .operation = Operation::gather,
    .name = "knomial",
    .summary = "k-nomial tree, subtrees travel together",
    .source = "binomial gather, generalised: Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .default_radix = 2,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
