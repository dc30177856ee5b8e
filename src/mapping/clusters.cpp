// One round: every vertex is matched with the free neighbour at its heaviest edge, and the pairs become the vertices of the next.
//
// The first rounds weigh edges as they are; so regular graphs fall into pairs, fours, eights along their heaviest edges, which is
// what the paper's graphs need. A round that merges nothing ends it.
#include "mapping/clusters.hpp"

#include <numeric>

namespace omnes::mapping {

namespace {

/// A vertex's mate, or itself.
std::vector<std::int32_t> matched(const Graph& graph, const std::vector<std::int32_t>& size, int largest) {
  std::vector<std::int32_t> mate(graph.vertices(), -1);
  for (int v = 0; v < graph.vertices(); ++v) {
    if (mate[v] >= 0) continue;
    int best = v;
    std::int64_t heaviest = 0;
    for (std::int64_t e = graph.first[v]; e < graph.first[v + 1]; ++e) {
      const std::int32_t other = graph.peer[e];
      if (graph.weight[e] <= heaviest || mate[other] >= 0 || size[v] + size[other] > largest) continue;
      best = other;
      heaviest = graph.weight[e];
    }
    mate[v] = best;
    mate[best] = v;
  }
  return mate;
}

/// The graph of the pairs; `pair` says which a vertex is in.
Graph contracted(const Graph& graph, const std::vector<std::int32_t>& mate, const std::vector<std::int32_t>& pair,
                 int pairs) {
  Graph result;
  result.first.reserve(pairs + 1);
  result.peer.reserve(graph.peer.size());
  result.weight.reserve(graph.peer.size());
  std::vector<std::int64_t> at(pairs, -1);  // where the edge to a pair lies, if at or after the row's start
  for (int v = 0; v < graph.vertices(); ++v) {
    if (mate[v] < v) continue;
    const auto start = static_cast<std::int64_t>(result.peer.size());
    for (const int member : {v, static_cast<int>(mate[v])}) {
      for (std::int64_t e = graph.first[member]; e < graph.first[member + 1]; ++e) {
        const std::int32_t other = pair[graph.peer[e]];
        if (other == pair[v]) continue;
        if (at[other] < start) {
          at[other] = static_cast<std::int64_t>(result.peer.size());
          result.peer.push_back(other);
          result.weight.push_back(0);
        }
        result.weight[at[other]] += graph.weight[e];
      }
      if (mate[v] == v) break;
    }
    result.first.push_back(static_cast<std::int64_t>(result.peer.size()));
  }
  return result;
}

}  // namespace

std::vector<std::int32_t> clusters(const Graph& graph, int largest) {
  std::vector<std::int32_t> cluster(graph.vertices()), size(graph.vertices(), 1);
  std::iota(cluster.begin(), cluster.end(), 0);
  Graph coarse;
  for (const Graph* current = &graph;; current = &coarse) {
    const auto mate = matched(*current, size, largest);
    std::vector<std::int32_t> pair(mate.size()), pair_size;
    for (std::size_t v = 0; v < mate.size(); ++v) {
      const auto other = static_cast<std::size_t>(mate[v]);
      if (other < v) {
        pair[v] = pair[other];
        continue;
      }
      pair[v] = static_cast<std::int32_t>(pair_size.size());
      pair_size.push_back(other == v ? size[v] : size[v] + size[other]);
    }
    if (pair_size.size() == size.size()) return cluster;
    for (std::int32_t& c : cluster) c = pair[c];
    coarse = contracted(*current, mate, pair, static_cast<int>(pair_size.size()));
    size = std::move(pair_size);
  }
}

}  // namespace omnes::mapping
