// Topologies that neighborhood operations are proved on and drawn for, and placements for hierarchical algorithms.
#pragma once

#include <array>

#include "schedule/placement.hpp"
#include "schedule/schedule.hpp"

namespace omnes::inline algorithms {

enum class Topology { ring, torus, irregular };
inline constexpr std::array sample_topologies = {Topology::ring, Topology::torus, Topology::irregular};
const char* name(Topology topology);

/// ring: a periodic Cartesian topology of one dimension (for p <= 2 neighbors repeat), torus: of two; irregular: a directed graph with ranks that
/// have no edges, edges to oneself, and repeated ones.
Neighbors sample_neighbors(Topology topology, int p, int rank);

/// Placements of p ranks, with a name each: nodes that are filled one after the other and in turn, nodes of different
/// sizes, and three levels.
struct SamplePlacement {
  const char* name;
  Placement placement;
};
std::vector<SamplePlacement> sample_placements(int p);

}  // namespace omnes::inline algorithms
