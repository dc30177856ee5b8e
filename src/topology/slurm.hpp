// Slurm's topology.conf, as its manual page describes it: switches in a tree, or blocks.
#pragma once

#include <string>
#include <vector>

#include "topology/lines.hpp"
#include "topology/network.hpp"

namespace omnes::inline topology {

/// Throws std::invalid_argument with the place of the fault.
void read_slurm(const std::vector<Line>& lines, Network& network);

/// Throws where a network has more levels of switches than can be used.
void require_levels(const Network& network);

/// With its switches; throws with what is said of it `otherwise` where the network has it already.
void add_node(Network& network, const Line& line, const std::string& node, const std::vector<std::string>& switches,
              const std::string& otherwise);

/// expand_hostlist, with the line in its errors.
std::vector<std::string> expand_names(const Line& line, const std::string& list);

}  // namespace omnes::inline topology
