// Asks the host for the three kinds of topologies.
//
// Ports: which of its source's edges to here an edge is. Of a distributed graph a rank does not know its neighbors'
// lists, so there, and for graphs, ports are the order among the edges from the same source, which is all that matching
// needs; edges to oneself have their true numbers, as both ends are here.
#include "interpose/data/neighbors.hpp"

#include <algorithm>
#include <map>

#include "interpose/host/failure.hpp"

namespace omnes::interpose {

namespace {

void add_source(Edges& edges, int source, int port, int place) {
  edges.neighbors.sources.push_back(source);
  edges.neighbors.ports.push_back(port);
  edges.source_places.push_back(place);
}

void add_destination(Edges& edges, int destination, int place) {
  edges.neighbors.destinations.push_back(destination);
  edges.destination_places.push_back(place);
}

/// In each dimension the neighbor below, then the one above. What comes from below has been sent upwards, and the other way round: that
/// tells edges apart where both neighbors are one rank.
void read_cartesian(MPI_Comm comm, int rank, Edges& edges) {
  int dimensions = 0;
  check_raised(host.Cartdim_get(comm, &dimensions));
  std::vector<int> around;
  for (int d = 0; d < dimensions; ++d) {
    int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
    check_raised(host.Cart_shift(comm, d, 1, &below, &above));
    around.insert(around.end(), {below, above});
  }
  edges.sources = edges.destinations = static_cast<int>(around.size());
  std::vector<int> number(around.size(), -1);  // place -> number among the own edges
  for (int place = 0; place < static_cast<int>(around.size()); ++place) {
    if (around[place] == MPI_PROC_NULL) continue;
    number[place] = static_cast<int>(edges.neighbors.destinations.size());
    add_destination(edges, around[place], place);
  }
  for (int place = 0; place < static_cast<int>(around.size()); ++place) {
    if (around[place] == MPI_PROC_NULL) continue;
    const int sent_from = place ^ 1;  // the place of the opposite direction
    add_source(edges, around[place], around[place] == rank ? number[sent_from] : sent_from, place);
  }
}

void read_lists(const std::vector<int>& sources, const std::vector<int>& destinations, int rank, Edges& edges) {
  edges.sources = static_cast<int>(sources.size());
  edges.destinations = static_cast<int>(destinations.size());
  std::vector<int> to_self;
  for (int i = 0; i < static_cast<int>(destinations.size()); ++i) {
    add_destination(edges, destinations[i], i);
    if (destinations[i] == rank) to_self.push_back(i);
  }
  std::map<int, int> seen;
  for (int i = 0; i < static_cast<int>(sources.size()); ++i) {
    const int occurrence = seen[sources[i]]++;
    const bool self = sources[i] == rank && occurrence < static_cast<int>(to_self.size());
    add_source(edges, sources[i], self ? to_self[occurrence] : occurrence, i);
  }
}

}  // namespace

std::unique_ptr<Edges> edges_of(MPI_Comm comm, int rank) {
  int kind = MPI_UNDEFINED;
  if constexpr (simulated) {
    kind = MPI_CART;  // the host has no others, and cannot be asked
  } else {
    check_raised(host.Topo_test(comm, &kind));
  }
  auto edges = std::make_unique<Edges>();
  if (kind == MPI_CART) {
    read_cartesian(comm, rank, *edges);
  } else if (kind == MPI_GRAPH) {
    int count = 0;
    check_raised(host.Graph_neighbors_count(comm, rank, &count));
    std::vector<int> neighbors(count + 1);  // room for one at least: null is not what hosts expect here
    check_raised(host.Graph_neighbors(comm, rank, count, neighbors.data()));
    neighbors.resize(count);
    read_lists(neighbors, neighbors, rank, *edges);
  } else if (kind == MPI_DIST_GRAPH) {
    int in = 0, out = 0, weighted = 0;
    check_raised(host.Dist_graph_neighbors_count(comm, &in, &out, &weighted));
    std::vector<int> sources(in + 1), destinations(out + 1), in_weights(in + 1), out_weights(out + 1);
    check_raised(host.Dist_graph_neighbors(comm, in, sources.data(), in_weights.data(), out, destinations.data(),
                                           out_weights.data()));
    sources.resize(in);
    destinations.resize(out);
    read_lists(sources, destinations, rank, *edges);
  } else {
    return nullptr;
  }
  return edges;
}

}  // namespace omnes::interpose
