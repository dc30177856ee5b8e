// Gather, k-nomial tree: inner ranks collect the parts of their subtree and pass them on together. About log_k(p)
// rounds.
#include "algorithms/registry.hpp"
#include "algorithms/subtrees.hpp"

namespace omnes::inline algorithms {
namespace {

void build(Builder& b) { gather_subtrees(b, knomial_place(b)); }

const Register registered{{
    .operation = Operation::gather,
    .name = "knomial",
    .summary = "k-nomial tree, subtrees travel together",
    .source = "binomial gather, generalised: Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .default_radix = 2,
}};

}  // namespace
}  // namespace omnes::inline algorithms
