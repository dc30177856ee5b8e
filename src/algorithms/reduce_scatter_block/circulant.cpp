// Reduce_scatter on circulant graphs: the fewest rounds and the least traffic for any p.
#include "algorithms/circulant_halving.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p();
  reduce_scatter_circulant(b, b.part(Buffer::send, 0, p), b.temp(p > 2 ? p : 0), recv_blocks(0));
}

const Register registered{{
    .operation = Operation::reduce_scatter_block,
    .name = "circulant",
    .summary = "ceil(log2(p)) rounds on a circulant graph, for any p",
    .source = "Träff 2024",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
