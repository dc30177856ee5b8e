// Allgather, by gathering to rank 0, which publishes everything. Two rounds; all parts pass through one rank.
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const Blocks all = b.part(Buffer::recv, 0, p);
  if (rank != 0) {
    b.send(0, b.own());
    b.recv_published(0, all);
    return;
  }
  b.copy(b.own(), b.part(Buffer::recv, 0));
  for (int from = 1; from < p; ++from) b.recv(from, b.part(Buffer::recv, from));
  b.publish(all);
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "gather_bcast",
    .summary = "all parts go to rank 0, which publishes them",
    .source = "Open MPI, basic linear allgather",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
