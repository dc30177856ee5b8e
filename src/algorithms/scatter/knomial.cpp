// Scatter, k-nomial tree: every inner rank gets the parts of its whole subtree and hands them down. About log_k(p)
// rounds.
#include "algorithms/registry.hpp"
#include "algorithms/subtrees.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) {
  const int p = b.p(), k = b.problem().radix;
  const auto subtree = [&](int v) { return Arc{v, knomial_extent(v, p, k)}; };
  scatter_subtrees(b, place_in(b.vrank(), knomial_tree(b.vrank(), p, k), subtree));
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
}  // namespace omnes::inline algorithms
