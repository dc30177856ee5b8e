// The form of nodes and their switches; what the other forms have in common with it.
#include "topology/network.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "topology/hostlist.hpp"
#include "topology/levels.hpp"
#include "topology/limits.hpp"
#include "topology/lines.hpp"
#include "topology/slurm.hpp"

namespace omnes::inline topology {

namespace {

constexpr const char* slurms_file = "/etc/slurm/topology.conf";

constexpr std::size_t max_nodes = max_described;

/// All lines have the same number of words: a node with fewer switches than others would have to be guessed at.
void read_columns(const std::vector<Line>& lines, Network& network) {
  network.levels = lines[0].words.size() - 1;
  require_levels(network);
  for (const Line& line : lines) {
    if (line.words.size() < 2) line.fail("'" + line.words[0] + "' alone; expected '<node> <switch> [<wider switch>]'");
    if (line.words.size() != network.levels + 1)
      line.fail(std::to_string(line.words.size() - 1) + " switches; expected " + std::to_string(network.levels) +
                " as in the lines before");
    const std::vector<std::string> switches(line.words.begin() + 1, line.words.end());
    for (const std::string& node : expand_names(line, line.words[0]))
      add_node(network, line, node, switches, "was there before");
  }
}

/// Two nodes on one switch are on one wider switch, too: else the levels would not nest.
void require_nesting(const std::vector<Line>& lines, const Network& network) {
  std::map<std::pair<std::size_t, std::string>, std::string> above;
  for (const Line& line : lines) {
    for (std::size_t level = 1; level < network.levels; ++level) {
      const std::string& wider = line.words[level + 1];
      const std::string& known = above.try_emplace({level, line.words[level]}, wider).first->second;
      if (known != wider)
        line.fail("switch '" + line.words[level] + "' is below '" + wider + "' here, below '" + known + "' before");
    }
  }
}

}  // namespace

const std::vector<std::string>* Network::of(const std::string& host) const {
  auto found = switches.find(host);
  if (found == switches.end()) found = switches.find(host.substr(0, host.find('.')));
  return found == switches.end() ? nullptr : &found->second;
}

Network read_network(const std::string& file) {
  const std::vector<Line> lines = read_lines(file);
  if (lines.empty())
    throw std::invalid_argument(file + ": nothing in it; expected lines '<node> <switch>' or Slurm's topology.conf");
  Network network{file, 0, {}};
  if (lines[0].words[0].find('=') != std::string::npos) {
    read_slurm(lines, network);
  } else {
    read_columns(lines, network);
    require_nesting(lines, network);
  }
  return network;
}

void require_levels(const Network& network) {
  if (network.levels > max_switch_levels)
    throw std::invalid_argument(network.file + ": " + std::to_string(network.levels) + " levels of switches; at most " +
                                std::to_string(max_switch_levels) + " can be used");
}

void add_node(Network& network, const Line& line, const std::string& node, const std::vector<std::string>& switches,
              const std::string& otherwise) {
  if (!network.switches.emplace(node, switches).second) line.fail("node '" + node + "' " + otherwise);
  if (network.switches.size() > max_nodes) line.fail("more than " + std::to_string(max_nodes) + " nodes");
}

std::optional<std::string> network_file(const std::optional<std::string>& wanted) {
  if (wanted) return wanted;
  std::error_code ignored;
  if (std::filesystem::exists(slurms_file, ignored)) return slurms_file;
  return std::nullopt;
}

}  // namespace omnes::inline topology
