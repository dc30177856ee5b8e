// Reading files and patterns of ranks.
#include "topology/described.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>

#include "topology/file.hpp"
#include "topology/hostlist.hpp"
#include "topology/limits.hpp"
#include "topology/lines.hpp"

namespace omnes::inline topology {

namespace {

constexpr int max_ranks = max_described;  // as in predictions

[[noreturn]] void fail(const std::string& pattern, const std::string& complaint) {
  throw std::invalid_argument(one_line("ranks '" + pattern + "': " + complaint));
}

std::vector<int> cpus_of(const Machine& machine) {
  std::vector<int> cpus = machine.usable;
  for (const Level& level : machine.levels)
    for (const std::vector<int>& group : level.groups) cpus.insert(cpus.end(), group.begin(), group.end());
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::vector<Site> read_file(const std::string& file, const Machine* machine) {
  const std::vector<int> all = machine != nullptr ? cpus_of(*machine) : std::vector<int>();
  std::vector<Site> sites;
  for (const Line& line : read_lines(file)) {
    if (line.words.size() > 2) line.fail("'" + line.words[2] + "' is too much; expected '<node> [<CPUs>]'");
    Site site{line.words[0], {}};
    try {
      if (line.words.size() == 2) site.cpus = parse_cpus(line.words[1]);
    } catch (const std::invalid_argument& error) {
      line.fail(std::string(error.what()) + "; expected CPUs such as 0-3,8");
    }
    if (machine != nullptr && !std::ranges::includes(all, site.cpus))
      line.fail("CPUs " + line.words[1] + " are not all of the machine, which has " + ranges(all));
    sites.push_back(std::move(site));
  }
  if (sites.empty()) throw std::invalid_argument(file + ": no ranks; expected a line '<node> [<CPUs>]' for each");
  return sites;
}

/// Nodes with the ranks that each has.
using Counts = std::vector<std::pair<std::string, int>>;

int read_count(const std::string& pattern, std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > max_ranks)
    fail(pattern, "'" + std::string(text) + "' is no number from 1 to " + std::to_string(max_ranks) +
                      "; expected a file, or a pattern such as 8x8, 48,36 or node[01-16]x36");
  return count;
}

void require_few(const std::string& pattern, std::int64_t ranks) {
  if (ranks > max_ranks) fail(pattern, "more than " + std::to_string(max_ranks) + " ranks");
}

Counts read_counts(const std::string& pattern, const std::string& word) {
  Counts counts;
  const auto add = [&](std::string node, int ranks) { counts.emplace_back(std::move(node), ranks); };
  const auto numbered = [&] { return "node" + std::to_string(counts.size()); };
  const std::size_t times = word.rfind('x');
  if (times == word.npos) {
    for (const std::string_view one : split_list(word)) add(numbered(), read_count(pattern, one));
    return counts;
  }
  const int ranks = read_count(pattern, std::string_view(word).substr(times + 1));
  const std::string nodes = word.substr(0, times);
  if (nodes.find_first_not_of("0123456789") == nodes.npos) {
    const int count = read_count(pattern, nodes);
    require_few(pattern, std::int64_t{count} * ranks);
    for (int i = 0; i < count; ++i) add(numbered(), ranks);
  } else if (nodes.find_first_not_of("0123456789xX") == nodes.npos) {
    fail(pattern,
         "'" + nodes +
             "' is neither a number of nodes nor a list of their names; expected 8x8, 48,36 or node[01-16]x36");
  } else {
    try {
      for (std::string& node : expand_hostlist(nodes)) add(std::move(node), ranks);
    } catch (const std::invalid_argument& error) {
      fail(pattern, error.what());
    }
  }
  return counts;
}

/// The CPUs of each core that a job may use, in the machine's order. Without cores, each CPU is one.
std::vector<std::vector<int>> usable_cores(const Machine& machine) {
  std::vector<std::vector<int>> cores;
  for (const Level& level : machine.levels) {
    if (level.name != "core") continue;
    for (const std::vector<int>& core : level.groups) {
      std::vector<int> usable;
      std::ranges::set_intersection(core, machine.usable, std::back_inserter(usable));
      if (!usable.empty()) cores.push_back(std::move(usable));
    }
  }
  if (cores.empty())
    for (const int cpu : machine.usable) cores.push_back({cpu});
  return cores;
}

std::vector<Site> arrange(const Counts& counts, bool cyclic) {
  std::vector<Site> sites;
  int most = 0;
  for (const auto& [node, count] : counts) most = std::max(most, count);
  if (cyclic) {
    for (int round = 0; round < most; ++round)
      for (const auto& [node, count] : counts)
        if (round < count) sites.push_back({node, {}});
  } else {
    for (const auto& [node, count] : counts) sites.insert(sites.end(), static_cast<std::size_t>(count), {node, {}});
  }
  return sites;
}

void bind(const std::string& pattern, std::vector<Site>& sites, const Machine& machine) {
  const std::vector<std::vector<int>> cores = usable_cores(machine);
  std::map<std::string, std::size_t> next;
  for (Site& site : sites) {
    const std::size_t core = next[site.node]++;
    if (core >= cores.size())
      fail(pattern, "more ranks on " + site.node + " than the " + std::to_string(cores.size()) +
                        " cores of the machine; say 'unbound', or write a file of ranks");
    site.cpus = cores[core];
  }
}

}  // namespace

std::vector<Site> read_ranks(const std::string& file_or_pattern, const Machine* machine) {
  std::error_code ignored;
  if (std::filesystem::exists(file_or_pattern, ignored)) return read_file(file_or_pattern, machine);
  std::istringstream words(file_or_pattern);
  std::string first;
  words >> first;
  bool cyclic = false, unbound = false;
  for (std::string word; words >> word;) {
    if (word != "block" && word != "cyclic" && word != "unbound")
      fail(file_or_pattern, "no word '" + word + "'; valid are block, cyclic, unbound");
    cyclic = cyclic || word == "cyclic";
    unbound = unbound || word == "unbound";
  }
  const Counts counts = read_counts(file_or_pattern, first);
  std::int64_t total = 0;
  for (const auto& [node, count] : counts) total += count;
  require_few(file_or_pattern, total);
  std::vector<Site> sites = arrange(counts, cyclic);
  if (machine != nullptr && !unbound) bind(file_or_pattern, sites, *machine);
  return sites;
}

Placed described(const std::vector<Site>& ranks, const Machine* machine, const Network* network, LevelSet wanted) {
  std::map<std::vector<int>, InnerUnits> known;
  const auto units_on = [&](const std::vector<int>& cpus) {
    const auto [at, fresh] = known.try_emplace(cpus);
    if (fresh && machine == nullptr) at->second.fill(no_unit);
    if (fresh && machine != nullptr) at->second = inner_units(*machine, cpus.empty() ? machine->usable : cpus);
    return at->second;
  };
  std::vector<Whereabouts> records;
  records.reserve(ranks.size());
  for (const Site& site : ranks) records.push_back(whereabouts(site.node, units_on(site.cpus), network));
  return place(records, wanted);
}

}  // namespace omnes::inline topology
