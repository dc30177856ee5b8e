// Allreduce on circulant graphs: a reduce-scatter of p pieces in ceil(log2(p)) rounds and an allgather in as many, by
// the same ways back: the least traffic for any p.
#include "algorithms/circulant.hpp"
#include "algorithms/circulant_halving.hpp"
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  b.cut(p);
  const Blocks result = recv_blocks(0, p);
  reduce_scatter_circulant(b, b.own(), result, sub(result, rank));
  const std::vector<int> skips = circulant_skips(p);
  for (std::size_t k = 0; k + 1 < skips.size(); ++k) {
    const int skip = skips[k], moved = skips[k + 1] - skip;
    const int to = (rank - skip + p) % p, from = (rank + skip) % p;
    cyclic_runs(rank, moved, p, [&](int first, int n) { b.send(to, sub(result, first, n)); });
    cyclic_runs(from, moved, p, [&](int first, int n) { b.recv(from, sub(result, first, n)); });
  }
}

const Register registered{{
    .operation = Operation::allreduce,
    .name = "circulant",
    .summary = "reduce-scatter, then allgather, each in ceil(log2(p)) rounds on a circulant graph",
    .source = "Träff 2024",
    .build = build,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
