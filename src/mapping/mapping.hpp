// A mapping: which rank of an algorithm each rank of a group plays, so that ranks that talk much lie close together.
//
// Overview. The ranks of the algorithm, "virtual" ones, are partitioned along the units of a Placement, from the widest level to the
// nearest, into parts of exactly as many as real ranks lie there; those of a part are played by the real ranks of the unit.
// Source: Kurnosov 2010 (TopoMPI), for two algorithms of Allgather on nodes; here for any schedule and any number of levels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mapping/partition.hpp"
#include "mapping/structure.hpp"
#include "schedule/placement.hpp"

namespace omnes::mapping {

/// A bijection, both ways.
struct Mapping {
  std::vector<std::int32_t> virtual_of;  ///< pi: what each real rank plays
  std::vector<std::int32_t> real_of;     ///< its inverse: who plays each virtual rank
  bool identity() const;
  bool operator==(const Mapping&) const = default;
};
Mapping identity(int p);
/// Throws std::invalid_argument where it is no permutation of 0..p-1.
Mapping mapping_of(std::vector<std::int32_t> virtual_of);

/// The real rank that must play itself, such as a root: -1 for none.
struct Fixed {
  std::int32_t rank = -1;
};

/// By closed form; p = 0 in the result (an empty mapping) where the pattern has no symmetry or units of a level differ in size.
Mapping map_by_structure(const Pattern& pattern, const Placement& placement);
/// By partitioning, level by level.
Mapping map_by_graph(const Graph& graph, const Placement& placement, Fixed fixed = {},
                     const Partitioner& partitioner = partition);

/// Moves each byte at the speed of the nearest level that two ranks share: what the mapping is made to lower. bandwidths[l] is that of
/// placement.levels[l], and one more for ranks that share no unit.
struct Cost {
  double time = 0;                   ///< sum of amount / bandwidth
  std::vector<std::int64_t> amount;  ///< by level of the nearest common unit, one more for none
};
Cost cost_of(const Traffic& traffic, const Placement& placement, const Mapping& mapping,
             std::span<const double> bandwidths);
Cost cost_of(const Pattern& pattern, const Placement& placement, const Mapping& mapping,
             std::span<const double> bandwidths);

/// Bandwidths where none are known: each level is eight times slower than the next nearer one, as one node's memory (8 to 10 GB/s for one
/// copy) is to 10-Gigabit Ethernet.
std::vector<double> default_bandwidths(const Placement& placement);

}  // namespace omnes::mapping
