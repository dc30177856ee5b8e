// Barrier, dissemination: ceil(log2(p)) rounds for any p; in the round of distance d everybody signals the rank d
// to its right.
#include "algorithms/registry.hpp"

namespace omnes {
namespace {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Blocks token;
  for (int distance = 1; distance < p; distance *= 2) {
    b.step();
    b.send((rank + distance) % p, token);
    b.recv((rank - distance + p) % p, token);
  }
}

const Algorithm algorithm{
    .operation = Operation::barrier,
    .name = "dissemination",
    .summary = "signals at doubling distance on a circle",
    .source = "Hensgen, Finkel, Manber 1988",
    .build = build,
};
const Register registered{algorithm};

}  // namespace
}  // namespace omnes
