// Slurm's topology.conf.
//
// How: a tree's switches may lie at different depths. A switch's height is 1 with nodes only below it, else one more than
// that of its highest child, as Slurm counts. A node's unit at a height is the widest switch above it that is no higher,
// so that all nodes have one at every height, and units nest.
#include "topology/slurm.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <stdexcept>

#include "topology/hostlist.hpp"

namespace omnes::inline topology {

namespace {

constexpr std::size_t deepest = 64;  // switches above one that are followed: far fewer can be used
constexpr const char* known_keys = "SwitchName, Switches, Nodes, LinkSpeed; BlockName, Nodes, BlockSizes";

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// The KEY=VALUE words of a line, keys in lower case as Slurm does not distinguish.
std::map<std::string, std::string> pairs(const Line& line) {
  std::map<std::string, std::string> found;
  for (const std::string& word : line.words) {
    const std::size_t equals = word.find('=');
    const std::string key = lower(std::string_view(word).substr(0, equals));
    if (equals == word.npos || equals + 1 == word.size()) line.fail("'" + word + "'; expected KEY=VALUE");
    static constexpr const char* keys[] = {"switchname", "switches", "nodes", "linkspeed", "blockname", "blocksizes"};
    if (std::ranges::find(keys, key) == std::end(keys)) line.fail("'" + word + "'; known are " + known_keys);
    if (!found.emplace(key, word.substr(equals + 1)).second) line.fail("a second '" + word + "'");
  }
  return found;
}

struct Switch {
  const Line* line;
  std::vector<std::string> children;
  std::string nodes;  ///< a list, not expanded yet
  std::string parent;
  std::size_t height = 0;  ///< 0: not known yet
};

using Tree = std::map<std::string, Switch>;

Tree read_switches(const std::vector<Line>& lines) {
  Tree tree;
  std::size_t children = 0;
  for (const Line& line : lines) {
    auto values = pairs(line);
    if (!values.contains("switchname") || values.contains("blockname") || values.contains("blocksizes"))
      line.fail("expected 'SwitchName=NAME Nodes=LIST' or 'SwitchName=NAME Switches=LIST'");
    if (!values.contains("nodes") && !values.contains("switches")) line.fail("expected Nodes=LIST or Switches=LIST");
    Switch one{&line, {}, {}, {}, 0};
    if (values.contains("nodes")) one.nodes = values["nodes"];
    if (values.contains("switches")) one.children = expand_names(line, values["switches"]);
    children += one.children.size();
    if (children > lines.size()) line.fail("more switches below others than there are in this file");
    if (!tree.emplace(values["switchname"], std::move(one)).second)
      line.fail("switch '" + values["switchname"] + "' was there before");
  }
  for (auto& [name, one] : tree) {
    for (const std::string& child : one.children) {
      const auto found = tree.find(child);
      if (found == tree.end()) one.line->fail("no switch '" + child + "' in this file");
      if (!found->second.parent.empty() && found->second.parent != name)
        one.line->fail("switch '" + child + "' is below '" + found->second.parent + "' already");
      found->second.parent = name;
    }
  }
  return tree;
}

/// Every switch is above as many as there are at most; more steps upwards mean a circle.
void find_heights(Tree& tree) {
  for (auto& [name, one] : tree) {
    std::size_t height = 1;
    for (Switch* at = &one; at != nullptr; at = at->parent.empty() ? nullptr : &tree.find(at->parent)->second) {
      at->height = std::max(at->height, height);
      if (++height > tree.size() + 1) one.line->fail("switch '" + name + "' is below itself");
      if (height > deepest) one.line->fail("switch '" + name + "' is below more than " + std::to_string(deepest));
    }
  }
}

void read_tree(const std::vector<Line>& lines, Network& network) {
  Tree tree = read_switches(lines);
  find_heights(tree);
  for (const auto& [name, one] : tree) network.levels = std::max(network.levels, one.height);
  require_levels(network);
  for (const auto& [name, one] : tree) {
    std::vector<std::string> units;
    std::string at = name;
    for (std::size_t height = 1; height <= network.levels; ++height) {
      for (std::string up = tree.find(at)->second.parent; !up.empty() && tree.find(up)->second.height <= height;
           up = tree.find(at)->second.parent)
        at = up;
      units.push_back(at);
    }
    if (one.nodes.empty()) continue;
    for (const std::string& node : expand_names(*one.line, one.nodes))
      add_node(network, *one.line, node, units, "is on a switch already");
  }
}

/// "18,36,144" -> how many blocks each size joins: 1, 2, 8.
std::vector<std::size_t> read_sizes(const Line& line, const std::string& text) {
  std::vector<std::size_t> sizes, joined;
  for (const std::string_view word : split_list(text)) {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    if (error != std::errc() || end != word.data() + word.size() || size == 0)
      line.fail("'" + std::string(word) + "' is no number of nodes; expected such as BlockSizes=18,36");
    sizes.push_back(size);
    if (size % sizes[0] != 0 || (sizes.size() > 1 && size % sizes[sizes.size() - 2] != 0))
      line.fail("block size " + std::string(word) + "; expected multiples of the size before");
    joined.push_back(size / sizes[0]);
  }
  return joined;
}

void read_blocks(const std::vector<Line>& lines, Network& network) {
  std::vector<std::size_t> joined = {1};
  std::vector<std::pair<std::string, std::vector<std::string>>> blocks;
  std::set<std::string> names;
  for (const Line& line : lines) {
    auto values = pairs(line);
    if (values.size() == 1 && values.contains("blocksizes")) {
      joined = read_sizes(line, values["blocksizes"]);
    } else if (values.size() == 2 && values.contains("blockname") && values.contains("nodes")) {
      if (!names.insert(values["blockname"]).second) line.fail("block '" + values["blockname"] + "' was there before");
      blocks.emplace_back(values["blockname"], expand_names(line, values["nodes"]));
      for (const std::string& node : blocks.back().second) add_node(network, line, node, {}, "is in a block already");
    } else {
      line.fail("expected 'BlockName=NAME Nodes=LIST' or 'BlockSizes=N,N'");
    }
  }
  network.levels = joined.size();
  require_levels(network);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (const std::string& node : blocks[i].second)
      for (const std::size_t count : joined) network.switches[node].push_back(blocks[i / count * count].first);
}

}  // namespace

void read_slurm(const std::vector<Line>& lines, Network& network) {
  const bool blocks = lower(lines[0].words[0]).starts_with("block");
  blocks ? read_blocks(lines, network) : read_tree(lines, network);
}

std::vector<std::string> expand_names(const Line& line, const std::string& list) {
  try {
    return expand_hostlist(list);
  } catch (const std::invalid_argument& error) {
    line.fail(error.what());
  }
}

}  // namespace omnes::inline topology
