// Allreduce, Swing: a reduce-scatter in which ranks exchange halves at distances 1, 1, 3, 5, 11, ..., and an allgather
// by the same ways back: two messages of traffic, 2 log2(p) rounds, the most data over the shortest distances. Which
// rank combines which piece is free, so pieces lie in an order in which halves are ranges.
#include "algorithms/butterfly.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { allreduce_along(b, swing); }

const Register registered{{
    .operation = Operation::allreduce,
    .name = "swing",
    .summary = "reduce-scatter at distance 1, 1, 3, 5, 11, ..., then allgather back",
    .source = "De Sensi, Bonato, Saam, Hoefler 2024",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
