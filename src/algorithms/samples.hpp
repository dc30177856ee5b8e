// Topologies that neighborhood operations are proved on and drawn for.
#pragma once

#include <array>

#include "schedule/schedule.hpp"

namespace omnes {

enum class Topology { ring, torus, irregular };
inline constexpr std::array sample_topologies = {Topology::ring, Topology::torus, Topology::irregular};
const char* name(Topology topology);

/// ring: a periodic Cartesian topology of one dimension (for p <= 2 neighbors repeat), torus: of two; irregular: a directed graph with ranks that
/// have no edges, edges to oneself, and repeated ones.
Neighbors sample_neighbors(Topology topology, int p, int rank);

}  // namespace omnes
