// Scan and exscan, all to all: everybody sends its contribution to all ranks above, and combines what comes from all below
// in rank order. One round. Same bits as linear.
#include <numeric>
#include <vector>

#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Blocks result = recv_blocks(0);
  Blocks own = b.own();
  if (rank + 1 < p) {
    // In place, the result overwrites the contribution while others may still be reading it.
    if (rank > 0 && own == result) {
      own = b.temp(1);
      b.copy(b.own(), own);
    }
    std::vector<std::int32_t> above(p - rank - 1);
    std::iota(above.begin(), above.end(), rank + 1);
    b.send(above, own);
  }
  if (b.problem().operation == Operation::scan) return reduce_from_left(b, {0, rank + 1}, own, result);
  if (rank > 0) b.recv(0, result);
  for (int from = 1; from < rank; ++from) b.recv_reduce(from, result, result);
}

const Register registered{{
    .operation = Operation::scan,
    .name = "all_to_all",
    .summary = "everybody sends to all above and combines what comes from below",
    .source = "folklore; scan's form of allreduce all_to_all",
    .build = build,
    .ordered = true,
    .from_left = true,
    .also = Operation::exscan,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
