// Allreduce, PAT: a reduce-scatter of p pieces up binomial trees and an allgather back down them, the least data over
// the longest distances.
#include "algorithms/pat.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p();
  b.cut(p);
  const std::vector<std::int32_t> pieces = pat_parts(b.rank(), p);
  const Blocks sums = b.temp_like(pieces);
  for (int place = 0; place < p; ++place) b.copy(sub(b.own(), pieces[place]), sub(sums, place));
  reduce_scatter_pat(b, sums, sub(sums, 0));
  allgather_pat(b, sums);
  for (int place = 0; place < p; ++place) b.copy(sub(sums, place), recv_blocks(pieces[place]));
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "pat",
    .summary = "reduce-scatter up binomial trees, then allgather down them, the least data over the longest distance",
    .source = "Jeaugey 2025 (PAT), without its bound on buffers",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
