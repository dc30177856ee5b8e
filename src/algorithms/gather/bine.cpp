// Gather and scatter, Bine tree: ceil(log2(p)) rounds as along a binomial tree, between ranks that are nearer to each other.
#include "algorithms/registry.hpp"
#include "algorithms/subtrees.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { move_subtrees(b, bine_place(b)); }

const Register registered{{
    .operation = Operation::gather,
    .name = "bine",
    .summary = "Bine tree, subtrees travel together",
    .source = "De Sensi et al. 2025",
    .build = build,
    .also = Operation::scatter,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
