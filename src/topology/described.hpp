// Jobs that are described rather than running: which rank on which node, on which CPUs.
//
// A pattern is "NODES x RANKS on each" and, if wanted, words:
//   8x8                     nodes node0 ... node7, 8 ranks on each, one node after the other
//   8x8 cyclic              rank after rank on the next node ("block" is the default)
//   48,36                   unequal nodes: 48 ranks on node0, 36 on node1
//   node[01-16]x36          nodes with the names that a network's file has
//   8x8 unbound             ranks may run on all CPUs of their node; else the k-th rank of a node has its k-th core
// A file has a line "<node> [<CPUs>]" for each rank, such as "node01 0-3,8"; without CPUs the rank is not bound.
#pragma once

#include <string>
#include <vector>

#include "topology/placing.hpp"

namespace omnes::inline topology {

struct Site {
  std::string node;
  std::vector<int> cpus;  ///< empty: not bound
};

/// By rank. Nodes are alike; without a machine, nobody is bound. Throws std::invalid_argument.
std::vector<Site> read_ranks(const std::string& file_or_pattern, const Machine* machine);

/// Null machine: nothing is known of what lies within nodes. Null network: nor of switches.
Placed described(const std::vector<Site>& ranks, const Machine* machine, const Network* network,
                 LevelSet wanted = all_levels);

}  // namespace omnes::inline topology
