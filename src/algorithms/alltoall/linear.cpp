// Alltoall, linear: everybody sends to everybody at once.
#include "algorithms/alltoall/source.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Blocks outgoing = outgoing_parts(b);
  for (int i = 1; i < p; ++i) {
    const int to = (rank + i) % p;
    b.send(to, sub(outgoing, to));
  }
  copy_own_part(b);
  for (int i = 1; i < p; ++i) {
    const int from = (rank - i + p) % p;
    b.recv(from, b.part(Buffer::recv, from));
  }
}

const Register registered{{
    .operation = Operation::alltoall,
    .name = "linear",
    .summary = "everybody sends to everybody at once",
    .source = "Thakur, Rabenseifner, Gropp 2005 (isend-irecv)",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
