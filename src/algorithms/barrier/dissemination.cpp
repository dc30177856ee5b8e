// Barrier, dissemination with radix k: ceil(logk(p)) rounds for any p; in the round of distance d everybody signals the
// ranks d, 2d ... (k-1)d to its right, and so knows that the k * d ranks up to itself have entered.
#include <algorithm>
#include <vector>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const std::int64_t p = b.p(), rank = b.rank(), k = b.problem().radix;
  const Blocks token;
  for (std::int64_t known = 1; known < p; known *= k) {
    std::vector<std::int32_t> to, from;
    for (std::int64_t distance = known; distance < std::min(p, k * known); distance += known) {
      to.push_back(static_cast<std::int32_t>((rank + distance) % p));
      from.push_back(static_cast<std::int32_t>((rank - distance + p) % p));
    }
    b.step();
    b.send(to, token);
    for (const int left : from) b.recv(left, token);
  }
}

const Register registered{{
    .operation = Operation::barrier,
    .name = "dissemination",
    .summary = "signals at growing distance on a circle, k - 1 per round",
    .source = "Hensgen, Finkel, Manber 1988; n-way: Hoefler, Mehlan, Mietke, Rehm 2006",
    .build = build,
    .default_radix = 2,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
