// Both directions are merged row by row: the transposed rows come out sorted, so nothing needs sorting.
#include "mapping/graph.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace omnes::mapping {

Graph graph_of(const Traffic& traffic) {
  const int p = traffic.p;
  std::vector<std::int64_t> first(p + 1, 0);  // of the rows of what each rank receives
  for (const std::int32_t to : traffic.peer) ++first[to + 1];
  for (int v = 0; v < p; ++v) first[v + 1] += first[v];
  std::vector<std::int32_t> sender(traffic.peer.size());
  std::vector<std::int64_t> received(traffic.peer.size()), next(first.begin(), first.end() - 1);
  for (int from = 0; from < p; ++from)
    for (std::int64_t e = traffic.first[from]; e < traffic.first[from + 1]; ++e) {
      const std::int64_t at = next[traffic.peer[e]]++;
      sender[at] = from;
      received[at] = traffic.amount[e];
    }
  Graph graph;
  graph.first.reserve(p + 1);
  graph.peer.reserve(2 * traffic.peer.size());
  graph.weight.reserve(2 * traffic.peer.size());
  for (int v = 0; v < p; ++v) {
    std::int64_t out = traffic.first[v], in = first[v];
    const std::int64_t out_end = traffic.first[v + 1], in_end = first[v + 1];
    while (out < out_end || in < in_end) {
      const std::int32_t to = out < out_end ? traffic.peer[out] : p, from = in < in_end ? sender[in] : p;
      std::int64_t weight = 0;
      if (to <= from) weight += traffic.amount[out++];
      if (from <= to) weight += received[in++];
      graph.peer.push_back(std::min(to, from));
      graph.weight.push_back(weight);
    }
    graph.first.push_back(static_cast<std::int64_t>(graph.peer.size()));
  }
  return graph;
}

Graph induced(const Graph& graph, std::span<const std::int32_t> chosen) {
  OMNES_ASSERT(std::ranges::is_sorted(chosen));
  Graph result;
  for (const std::int32_t v : chosen) {
    const auto peers = graph.peers(v);
    for (std::size_t e = 0; e < peers.size(); ++e) {
      const auto found = std::lower_bound(chosen.begin(), chosen.end(), peers[e]);
      if (found == chosen.end() || *found != peers[e]) continue;
      result.peer.push_back(static_cast<std::int32_t>(found - chosen.begin()));
      result.weight.push_back(graph.weights(v)[e]);
    }
    result.first.push_back(static_cast<std::int64_t>(result.peer.size()));
  }
  return result;
}

std::int64_t weight_between(const Graph& graph, int a, int b) {
  const auto peers = graph.peers(a);
  const auto found = std::lower_bound(peers.begin(), peers.end(), b);
  return found == peers.end() || *found != b ? 0 : graph.weights(a)[found - peers.begin()];
}

std::int64_t cut(const Graph& graph, std::span<const std::int32_t> part_of) {
  std::int64_t sum = 0;
  for (int v = 0; v < graph.vertices(); ++v)
    for (std::int64_t e = graph.first[v]; e < graph.first[v + 1]; ++e)
      if (v < graph.peer[e] && part_of[v] != part_of[graph.peer[e]]) sum += graph.weight[e];
  return sum;
}

}  // namespace omnes::mapping
