// A machine as levels: which CPUs share a core, a cache, a memory, a socket.
//
// A level is named by its part: node, socket, numa, l3, l2, core; each lists its groups of CPUs, widest level first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace omnes::inline topology {

struct Level {
  std::string name;
  std::size_t bytes = 0;                 ///< of one group's memory or cache; 0: the level has none
  std::vector<std::vector<int>> groups;  ///< the CPUs of each, in ascending order; a memory may be near none
};

struct Machine {
  std::vector<int> usable;  ///< CPUs that this process may run on
  std::vector<Level> levels;
};

/// One line for each level: name, number of groups, size, CPUs.
std::string to_string(const Machine& machine);
/// "0-3,8": ascending CPUs as ranges.
std::string ranges(const std::vector<int>& cpus);

}  // namespace omnes::inline topology
