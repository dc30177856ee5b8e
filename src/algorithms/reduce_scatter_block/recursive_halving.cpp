// Reduce_scatter, recursive halving: log2(p) rounds in which ranks at distance p/2, ..., 2, 1 exchange halves. The
// halves are ranges of parts, so nothing is copied; the order starts at the farthest: needs a commutative operation.
// Ranks beyond a power of two hand all they have to a partner first, and get their part from it.
#include "algorithms/butterfly.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { reduce_scatter_along(b, halving_distance); }

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "recursive_halving",
    .summary = "pairs at halving distance exchange halves of what they hold",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
