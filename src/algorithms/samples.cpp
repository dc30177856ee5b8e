// Edges of the sample topologies, computed for one rank.
#include "algorithms/samples.hpp"

#include <algorithm>

namespace omnes {

namespace {

/// Per dimension the neighbor below, then the one above; what arrives from below was sent upwards.
void add_dimension(Neighbors& neighbors, int below, int above) {
  const auto port = static_cast<std::int32_t>(neighbors.destinations.size());
  for (const int neighbor : {below, above}) {
    neighbors.sources.push_back(neighbor);
    neighbors.destinations.push_back(neighbor);
  }
  neighbors.ports.push_back(port + 1);
  neighbors.ports.push_back(port);
}

Neighbors torus(int p, int rank) {
  int rows = 1;
  for (int r = 1; r * r <= p; ++r)
    if (p % r == 0) rows = r;
  const int columns = p / rows, row = rank / columns, column = rank % columns;
  Neighbors neighbors;
  add_dimension(neighbors, (row + rows - 1) % rows * columns + column, (row + 1) % rows * columns + column);
  add_dimension(neighbors, row * columns + (column + columns - 1) % columns, row * columns + (column + 1) % columns);
  return neighbors;
}

std::vector<std::int32_t> irregular_destinations(int p, int rank) {
  constexpr int most = 4;
  std::vector<std::int32_t> destinations;
  for (int i = 0; i < rank % (most + 1); ++i) destinations.push_back((rank * i + i * i) % p);
  return destinations;
}

}  // namespace

const char* name(Topology topology) {
  switch (topology) {
    case Topology::ring: return "a ring";
    case Topology::torus: return "a torus";
    case Topology::irregular: break;
  }
  return "an irregular graph";
}

Neighbors sample_neighbors(Topology topology, int p, int rank) {
  Neighbors neighbors;
  switch (topology) {
    case Topology::ring: add_dimension(neighbors, (rank + p - 1) % p, (rank + 1) % p); break;
    case Topology::torus: neighbors = torus(p, rank); break;
    case Topology::irregular:
      neighbors.destinations = irregular_destinations(p, rank);
      for (int source = p - 1; source >= 0; --source) {
        const auto there = irregular_destinations(p, source);
        for (std::size_t port = 0; port < there.size(); ++port) {
          if (there[port] != rank) continue;
          neighbors.sources.push_back(source);
          neighbors.ports.push_back(static_cast<std::int32_t>(port));
        }
      }
  }
  return neighbors;
}

}  // namespace omnes
