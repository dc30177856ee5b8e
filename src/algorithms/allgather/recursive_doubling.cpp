// Allgather, recursive doubling: log2(p) rounds in which ranks at distance 1, 2, 4, ... exchange all parts they
// have. Powers of two only.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  for (int distance = 1; distance < p; distance *= 2) {
    const int peer = rank ^ distance;
    const auto gathered = [&](int of) { return b.part(Buffer::recv, of & ~(distance - 1), distance); };
    b.send(peer, distance == 1 ? b.own() : gathered(rank));
    if (distance == 1) b.copy(b.own(), b.part(Buffer::recv, rank));
    b.recv(peer, gathered(peer));
  }
  if (p == 1) b.copy(b.own(), b.part(Buffer::recv, rank));
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "recursive_doubling",
    .summary = "pairs at doubling distance exchange all they have",
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .power_of_two = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
