// Barrier, k-nomial: tokens flow up a k-nomial tree to rank 0 and down again. 2(p - 1) messages in all.
#include "algorithms/registry.hpp"
#include "algorithms/trees.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const Tree tree = knomial_tree(b.rank(), b.p(), b.problem().radix);
  const Blocks token;
  for (const int child : tree.children) b.recv(child, token);
  b.step();
  if (tree.parent >= 0) {
    b.send(tree.parent, token);
    b.recv(tree.parent, token);
    b.step();
  }
  b.send(tree.children, token);
}

const Register registered{{
    .operation = Operation::barrier,
    .name = "knomial",
    .summary = "up and down a k-nomial tree",
    .source = "combining tree: Yew, Tzeng, Lawrie 1987; as messages with any k",
    .build = build,
    .default_radix = 2,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
