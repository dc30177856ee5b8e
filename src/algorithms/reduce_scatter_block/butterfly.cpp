// Reduce_scatter, butterfly: log2(p) rounds in which ranks at distance 1, 2, 4, ... exchange halves, so that
// neighbouring ranges of ranks combine and the operand order holds. Halving with the distance doubling leaves parts
// with the ranks whose bits are reversed; so the parts are brought into that order before.
// Source: Träff 2005, "An improved algorithm for (non-commutative) reduce-scatter with an application". Here
// ranks beyond a power of two hand all they have to a partner first.
#include "algorithms/butterfly.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { reduce_scatter_along(b, doubling_distance); }

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "butterfly",
    .summary = "pairs at doubling distance exchange halves, in rank order",
    .source = "Träff 2005",
    .build = build,
    .ordered = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
