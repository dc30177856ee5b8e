// Gather and scatter, k-nomial tree: inner ranks collect the parts of their subtree and pass them on together, or get
// them together and hand them down. About log_k(p) rounds.
#include "algorithms/registry.hpp"
#include "algorithms/subtrees.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { move_subtrees(b, knomial_place(b)); }

const Register registered{{
    .operation = Operation::gather,
    .name = "knomial",
    .summary = "k-nomial tree, subtrees travel together",
    .source = "binomial gather and scatter, generalised: Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .default_radix = 2,
    .also = Operation::scatter,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
