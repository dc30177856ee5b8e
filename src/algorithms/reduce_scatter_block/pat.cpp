// Reduce_scatter, PAT: all parts up binomial trees of their own, from the shortest distance with half of the parts to
// the longest with one.
#include "algorithms/pat.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const std::vector<std::int32_t> parts = pat_parts(b.rank(), b.p());
  const Blocks sums = b.temp_like(parts);
  for (int place = 0; place < b.p(); ++place) b.copy(b.part(Buffer::send, parts[place]), sub(sums, place));
  reduce_scatter_pat(b, sums, recv_blocks(0));
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "pat",
    .summary = "all parts up binomial trees at once, the least data over the longest distance, for any p",
    .source = "Jeaugey 2025 (PAT), without its bound on buffers",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
