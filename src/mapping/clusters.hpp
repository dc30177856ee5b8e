// Clusters of vertices that talk much, grown by matching along the heaviest edges.
#pragma once

#include <vector>

#include "mapping/graph.hpp"

namespace omnes::mapping {

/// The cluster of each vertex, numbered from 0; none has more than `largest` vertices.
std::vector<std::int32_t> clusters(const Graph& graph, int largest);

}  // namespace omnes::mapping
