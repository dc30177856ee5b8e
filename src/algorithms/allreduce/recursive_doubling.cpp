// Allreduce, recursive doubling: log2(p) rounds in which ranks at distance 1, 2, 4, ... exchange and combine all
// they have.
//
// How: the ranks fold onto a power of two of members; members combine neighbouring ranges, lower ranks on the left
// on both sides, so the order holds and all ranks get the same bits.
#include "algorithms/doubling.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) { allreduce_exchanging(b, b.own(), exchange_doubling); }

const Register registered{{
    .operation = Operation::allreduce,
    .name = "recursive_doubling",
    .summary = "pairs at doubling distance exchange and combine",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .ordered = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
