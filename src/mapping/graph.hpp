// The undirected graph that is partitioned: what two ranks send each other, both directions together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mapping/traffic.hpp"

namespace omnes::mapping {

struct Graph {
  std::vector<std::int64_t> first{0};  ///< row v is first[v] .. first[v + 1]
  std::vector<std::int32_t> peer;      ///< ascending in each row; each edge is in both rows
  std::vector<std::int64_t> weight;

  int vertices() const { return static_cast<int>(first.size()) - 1; }
  std::span<const std::int32_t> peers(int v) const {
    return {peer.data() + first[v], static_cast<std::size_t>(first[v + 1] - first[v])};
  }
  std::span<const std::int64_t> weights(int v) const {
    return {weight.data() + first[v], static_cast<std::size_t>(first[v + 1] - first[v])};
  }
};

Graph graph_of(const Traffic& traffic);
/// The vertices of `chosen`, which ascend, and the edges among them; vertex i of the result is chosen[i].
Graph induced(const Graph& graph, std::span<const std::int32_t> chosen);
/// Weight of the edge, 0 where there is none.
std::int64_t weight_between(const Graph& graph, int a, int b);
/// Sum of the weights of the edges between different parts.
std::int64_t cut(const Graph& graph, std::span<const std::int32_t> part_of);

}  // namespace omnes::mapping
