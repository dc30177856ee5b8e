// Scatter, k-nomial tree: every inner rank gets the parts of its whole subtree and hands them down. About log_k(p)
// rounds.
#include "algorithms/registry.hpp"
#include "algorithms/subtrees.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) { scatter_subtrees(b, knomial_place(b)); }

const Register registered{{
    .operation = Operation::scatter,
    .name = "knomial",
    .summary = "k-nomial tree, subtrees travel together",
    .source = "binomial scatter, generalised: Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .default_radix = 2,
}};

}  // namespace
}  // namespace omnes::inline algorithms
