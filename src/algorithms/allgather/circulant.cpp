// Allgather on Träff's circulant graph: ceil(log2(p)) rounds for any p. In each round every rank takes from one rank
// to its right about as many parts as it has.
//
// Bruck's algorithm moves 1, 2, 4, ... parts and the few that are left in the last round; here the number at most
// doubles and the rounds grow evenly: 11 ranks take 1, 1, 3 and 5 parts instead of 1, 2, 4 and 3.
#include "algorithms/circulant.hpp"

#include "algorithms/circle.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  if (b.p() == 1) b.copy(b.own(), b.part(Buffer::recv, 0));
  const std::vector<int> skips = circulant_skips(b.p());
  for (std::size_t i = 0; i + 1 < skips.size(); ++i) {
    const Pull pull{skips[i], skips[i + 1] - skips[i]};
    pull_round(b, {&pull, 1});
  }
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "circulant",
    .summary = "distances that halve p, rounded up; any number of ranks",
    .source = "Träff 2024",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
