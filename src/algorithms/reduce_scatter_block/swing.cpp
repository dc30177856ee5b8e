// Reduce_scatter, Swing: log2(p) rounds in which ranks exchange halves at distances 1, 1, 3, 5, 11, ..., the most data
// over the shortest ones. Parts are brought into an order in which halves are ranges before.
#include "algorithms/butterfly.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { reduce_scatter_along(b, swing); }

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "swing",
    .summary = "pairs at distance 1, 1, 3, 5, 11, ... exchange halves",
    .source = "De Sensi, Bonato, Saam, Hoefler 2024",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
