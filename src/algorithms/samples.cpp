// Edges of the sample topologies, computed for one rank; and units of ranks.
#include "algorithms/samples.hpp"

#include <algorithm>
#include <functional>

namespace omnes::inline algorithms {

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

/// A level in which `unit(rank)` is each rank's unit.
PlacementLevel level(const char* name, int p, const std::function<int(int)>& unit) {
  PlacementLevel made{name, {}};
  for (int rank = 0; rank < p; ++rank) made.unit.push_back(unit(rank));
  return made;
}

/// Nodes of 1, 2, 3, ... consecutive ranks.
int growing_node(int rank) {
  int node = 0;
  for (int first = 0; first + node < rank; first += ++node) {
  }
  return node;
}

}  // namespace

std::vector<SamplePlacement> sample_placements(int p) {
  const auto in_turn = [](int rank) { return rank % 3; };
  return {
      {"nodes of 4", {p, {level("node", p, [](int rank) { return rank / 4; })}}},
      {"3 nodes in turn", {p, {level("node", p, in_turn)}}},
      {"nodes of 1, 2, 3, ...", {p, {level("node", p, growing_node)}}},
      {"three levels",
       {p,
        {level("numa", p, [](int rank) { return rank / 2; }), level("node", p, [](int rank) { return rank / 6; }),
         level("switch", p, [](int rank) { return rank / 18; })}}},
      {"three levels, ranks in turn",
       {p,
        {level("numa", p, [](int rank) { return rank % 8; }), level("node", p, [](int rank) { return rank % 4; }),
         level("switch", p, [](int rank) { return rank % 2; })}}},
  };
}

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

}  // namespace omnes::inline algorithms
