// Allgather, Bruck with radix k: ceil(logk(p)) rounds for any p. In the round of distance d every rank takes the d
// parts that each of the ranks d, 2d ... (k-1)d to its right has.
//
// The original works on a rotated copy and turns it back at the end. Here parts go straight to their final places.
#include <algorithm>
#include <vector>

#include "algorithms/circle.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const std::int64_t p = b.p(), k = b.problem().radix;
  if (p == 1) b.copy(b.own(), b.part(Buffer::recv, 0));
  for (std::int64_t held = 1; held < p; held *= k) {
    std::vector<Pull> pulls;
    for (std::int64_t distance = held; distance < std::min(p, k * held); distance += held)
      pulls.push_back({static_cast<int>(distance), static_cast<int>(std::min(held, p - distance))});
    pull_round(b, pulls);
  }
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "bruck",
    .summary = "growing distance on a circle, k - 1 partners per round, any number of ranks",
    .source = "Bruck et al. 1997 (with k - 1 ports)",
    .build = build,
    .default_radix = 2,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
