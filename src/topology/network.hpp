// Which switches a node hangs on, from the files that sites have.
//
// Three forms, told apart by their first line:
//   node01 sw11 spine1                      a node (or a list such as node[01-16]) and its switches, nearest first
//   SwitchName=sw11 Nodes=node[01-16]       Slurm's topology.conf for trees: Nodes=, and Switches= above them
//   BlockName=b1 Nodes=node[01-18]          the same for blocks; BlockSizes=18,36 joins neighbouring blocks to wider ones
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace omnes::inline topology {

struct Network {
  std::string file;
  std::size_t levels = 0;  ///< of switches; every node has a unit of each
  /// By node, its switches from the nearest to the widest. A switch's name says which level it is of, too.
  std::map<std::string, std::vector<std::string>, std::less<>> switches;

  /// Of the node with this host name, or else with its first part: n1 of n1.example.org. Null: the file does not name it.
  const std::vector<std::string>* of(const std::string& host) const;
};

/// Throws std::invalid_argument: file, line, what was wrong and what is expected.
Network read_network(const std::string& file);

/// The file to read: the wanted one, or else Slurm's on this machine if there is one.
std::optional<std::string> network_file(const std::optional<std::string>& wanted);

}  // namespace omnes::inline topology
