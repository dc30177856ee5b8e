// The best of a few starts, each refined.
#include "mapping/partition.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"
#include "mapping/clusters.hpp"

namespace omnes::mapping {

namespace {

// Up to so many vertices several starts are tried. It takes milliseconds.
constexpr int try_several = 1024;

/// Consecutive vertices together: what programs and algorithms that know of nodes hope for.
Parts consecutive(std::span<const std::int32_t> sizes) {
  Parts part_of;
  for (std::size_t part = 0; part < sizes.size(); ++part)
    part_of.insert(part_of.end(), sizes[part], static_cast<std::int32_t>(part));
  return part_of;
}

/// Each part grows from the free vertex that says least to free ones, by the vertex that says most to the part.
Parts grown(const Graph& graph, std::span<const std::int32_t> sizes) {
  Parts part_of(graph.vertices(), -1);
  std::vector<std::int64_t> outside(graph.vertices(), 0);
  for (int v = 0; v < graph.vertices(); ++v)
    for (const std::int64_t weight : graph.weights(v)) outside[v] += weight;
  for (std::size_t part = 0; part < sizes.size(); ++part) {
    std::vector<std::int64_t> said(graph.vertices(), 0);
    for (int taken = 0; taken < sizes[part]; ++taken) {
      int best = -1;
      for (int v = 0; v < graph.vertices(); ++v) {
        if (part_of[v] >= 0) continue;
        if (best < 0 || said[v] > said[best] || (said[v] == said[best] && outside[v] < outside[best])) best = v;
      }
      part_of[best] = static_cast<std::int32_t>(part);
      for (std::int64_t e = graph.first[best]; e < graph.first[best + 1]; ++e) {
        said[graph.peer[e]] += graph.weight[e];
        outside[graph.peer[e]] -= graph.weight[e];
      }
    }
  }
  return part_of;
}

}  // namespace

Parts partition(const Graph& graph, std::span<const std::int32_t> sizes) {
  OMNES_ASSERT(std::accumulate(sizes.begin(), sizes.end(), 0) == graph.vertices());
  if (sizes.size() == 1) return Parts(graph.vertices(), 0);
  Parts best = pack(graph, clusters(graph, *std::ranges::max_element(sizes)), sizes);
  refine(graph, best, sizes.size());
  if (graph.vertices() > try_several) return best;
  std::int64_t least = cut(graph, best);
  for (Parts other : {consecutive(sizes), grown(graph, sizes)}) {
    refine(graph, other, sizes.size());
    const std::int64_t weight = cut(graph, other);
    if (weight >= least) continue;
    best = std::move(other);
    least = weight;
  }
  return best;
}

Parts repaired(const Graph& graph, const Parts& rough, std::span<const std::int32_t> sizes) {
  Parts part_of = pack(graph, rough, sizes);
  refine(graph, part_of, sizes.size());
  return part_of;
}

}  // namespace omnes::mapping
