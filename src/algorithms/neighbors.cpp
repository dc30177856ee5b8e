// Everything at once: what is due first arrives first.
#include "algorithms/neighbors.hpp"

#include <algorithm>
#include <numeric>

namespace omnes::inline algorithms {

void exchange_with_neighbors(Builder& b, const std::function<Blocks(int port)>& outgoing) {
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

}  // namespace omnes::inline algorithms
