// From the longest skip to the shortest.
#include "algorithms/circulant_halving.hpp"

#include "algorithms/circulant.hpp"
#include "algorithms/patterns.hpp"

namespace omnes::inline algorithms {

void reduce_scatter_circulant(Builder& b, Blocks own, Blocks into, Blocks last) {
  const int p = b.p(), rank = b.rank();
  const std::vector<int> skips = circulant_skips(p);
  Blocks sum = own;
  for (std::size_t k = skips.size() - 1; k-- > 0;) {
    const int skip = skips[k], moved = skips[k + 1] - skip;
    const int to = (rank + skip) % p, from = (rank - skip + p) % p;
    cyclic_runs(to, moved, p, [&](int first, int n) { b.send(to, sub(sum, first, n)); });
    cyclic_runs(rank, moved, p, [&](int first, int n) {
      b.recv_reduce(from, sub(sum, first, n), skip == 1 ? last : sub(into, first, n));
    });
    // For odd p the first round leaves out one of the parts that stay.
    if (skips[k + 1] == p && moved < skip) {
      const int left_out = (rank + moved) % p;
      b.copy(sub(sum, left_out), sub(into, left_out));
    }
    sum = into;
  }
  if (p == 1) b.copy(own, last);
}

}  // namespace omnes::inline algorithms
