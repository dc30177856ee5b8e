// Allreduce, Bine butterfly: log2(p) rounds in which ranks at Swing's distances, from the longest to the shortest,
// exchange and combine all they have. For short messages; for long ones the butterfly's other direction is `swing`.
//
// Why all ranks get the same bits. From the longest distance down, the ranks that hold the same sum are the groups of
// swing.hpp, so two groups meet as a whole; and the place's bit that tells them apart says which sum is on the left.
// From the shortest distance up, every rank would combine others in its own way.
// Needs a commutative operation.
#include "algorithms/doubling.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/swing.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

Exchange exchange(int member, int round, int members) {
  int rounds = 0;
  while ((1 << rounds) < members) ++rounds;
  return {alternating_partner(member, rounds - 1 - round, members), (swing_place(member, members) >> round & 1) != 0};
}

void build(Builder& b) { allreduce_exchanging(b, b.own(), exchange); }

const Register registered{{
    .operation = Operation::allreduce,
    .name = "bine",
    .summary = "pairs at distance ..., 11, 5, 3, 1, 1 exchange and combine all they have",
    .source = "De Sensi et al. 2025 (Bine trees)",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
