// Neighbor_allgather and neighbor_alltoall, linear: a message along every edge, all at once. What is due first arrives
// first: several edges between two ranks carry their messages in the order of the sender's destinations.
#include <algorithm>
#include <numeric>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const bool one_for_all = regular(b.problem().operation) == Operation::neighbor_allgather;
  const auto outgoing = [&](int port) { return b.part(Buffer::send, one_for_all ? 0 : port); };
  const Neighbors& neighbors = b.problem().neighbors;
  for (int port = 0; port < static_cast<int>(neighbors.destinations.size()); ++port)
    if (neighbors.destinations[port] != b.rank()) b.send(neighbors.destinations[port], outgoing(port));
  std::vector<int> order(neighbors.sources.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return neighbors.ports[x] < neighbors.ports[y]; });
  for (const int i : order) {
    const Blocks into = b.part(Buffer::recv, i);
    if (neighbors.sources[i] == b.rank())
      b.copy(outgoing(neighbors.ports[i]), into);
    else
      b.recv(neighbors.sources[i], into);
  }
}

const Register registered{{
    .operation = Operation::neighbor_allgather,
    .name = "linear",
    .summary = "a message along every edge, all at once",
    .source = "MPICH, Open MPI (linear)",
    .build = build,
    .unequal = true,
    .also = Operation::neighbor_alltoall,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
