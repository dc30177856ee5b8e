// Records from a machine's levels, a host's name and its switches. From Linux: sysfs.cpp.
#include "topology/whereabouts.hpp"

#include <algorithm>
#include <functional>

#include "base/assert.hpp"

namespace omnes::inline topology {

namespace {

/// 64 bits: two of a million units have one number with a probability of 1 in 30 million.
std::uint64_t numbered(std::size_t level, const std::string& unit) {
  const std::uint64_t hash = std::hash<std::string>{}(std::string(level_names[level]) + ' ' + unit);
  return std::max(hash, Whereabouts::first_unit);
}

/// The smallest unit of the lowest CPU: a memory that is near all CPUs lies beside those that are near some.
int unit_of(const Level& level, const std::vector<int>& cpus) {
  const std::vector<int>* home = nullptr;
  bool touched = false;
  for (const std::vector<int>& group : level.groups) {
    touched = touched || std::ranges::find_first_of(group, cpus) != group.end();
    if (std::ranges::binary_search(group, cpus.front()) && (home == nullptr || group.size() < home->size()))
      home = &group;
  }
  if (home == nullptr) return touched ? several_units : no_unit;
  return std::ranges::includes(*home, cpus) ? home->front() : several_units;
}

}  // namespace

InnerUnits inner_units(const Machine& machine, const std::vector<int>& cpus) {
  OMNES_ASSERT(!cpus.empty() && std::ranges::is_sorted(cpus));
  InnerUnits units;
  for (std::size_t i = 0; i < inner_levels; ++i) {
    const auto found = std::ranges::find(machine.levels, level_names[i], &Level::name);
    units[i] = found != machine.levels.end() ? unit_of(*found, cpus) : no_unit;
  }
  return units;
}

Whereabouts whereabouts(const std::string& host, const InnerUnits& inner, const Network* network,
                        std::uint64_t memory) {
  const std::string node = memory == 0 ? host : host + '/' + std::to_string(memory);
  Whereabouts record;
  for (std::size_t i = 0; i < inner_levels; ++i) {
    if (inner[i] >= 0)
      record.unit[i] = numbered(i, node + ' ' + std::to_string(inner[i]));
    else
      record.unit[i] = inner[i] == no_unit ? Whereabouts::none : Whereabouts::several;
  }
  record.unit[node_level] = numbered(node_level, node);
  if (network == nullptr) return record;
  const std::vector<std::string>* switches = network->of(host);
  for (std::size_t i = 0; i < network->levels; ++i)
    record.unit[first_switch + i] =
        switches != nullptr ? numbered(first_switch + i, (*switches)[i]) : Whereabouts::unlisted;
  return record;
}

}  // namespace omnes::inline topology
