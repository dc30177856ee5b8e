// Networks and described jobs, as Python sees them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

#include "python/bindings.hpp"
#include "topology/described.hpp"
#include "topology/groups.hpp"
#include "topology/hostlist.hpp"

namespace omnes::python {

namespace {

template <class Value>
const Value* pointer(const std::optional<Value>& value) {
  return value ? &*value : nullptr;
}

nb::dict described(const Job& job) {
  nb::list nodes, levels, left_out, groups;
  for (const Site& site : job.ranks) nodes.append(site.node);
  for (const PlacementLevel& level : job.placed.placement.levels) {
    nb::dict d;
    d["name"] = level.name;
    d["units"] = level.unit;
    levels.append(d);
  }
  for (const LeftOut& level : job.placed.left_out) {
    nb::dict d;
    d["name"] = level.level;
    d["kind"] = name(level.kind);
    d["why"] = level.why;
    left_out.append(d);
  }
  for (const GroupLevel& level : groups_of(job.placed.placement)) {
    nb::list members;
    for (std::size_t i = 0; i < level.count(); ++i)
      members.append(std::vector<int>(level.group(i).begin(), level.group(i).end()));
    nb::dict d;
    d["level"] = level.name;
    d["groups"] = members;
    groups.append(d);
  }
  nb::dict d;
  d["p"] = job.placed.placement.p;
  d["nodes"] = nodes;
  d["levels"] = levels;
  d["left_out"] = left_out;
  d["groups"] = groups;
  return d;
}

nb::typed<nb::dict, nb::str, Names> network(const std::string& file) {
  const Network read = read_network(file);
  nb::dict nodes;
  for (const auto& [node, switches] : read.switches) nodes[node.c_str()] = switches;
  return nodes;
}

/// The units of this machine, by Linux, that hold all these CPUs: each level's lowest CPU; -1: none, -2: several.
nb::typed<nb::dict, nb::str, int> inner(const std::vector<int>& cpus, const std::string& system) {
  if (cpus.empty()) throw std::invalid_argument("no CPUs; valid: one or more");
  for (const int cpu : cpus) require_within("CPU", cpu, 0, std::numeric_limits<int>::max());
  std::vector<int> sorted = cpus;
  std::ranges::sort(sorted);
  const InnerUnits units = system.empty() ? inner_units(sorted) : inner_units(sorted, system);
  nb::dict d;
  for (std::size_t i = 0; i < inner_levels; ++i) d[level_names[i]] = units[i];
  return d;
}

}  // namespace

Job job(const std::string& ranks, const std::string& machine, const std::string& network, const std::string& levels) {
  const std::optional<Machine> on =
      machine.empty() ? std::nullopt : std::optional(hwloc_machine(machine == "this" ? "" : machine));
  const std::optional<Network> over = network.empty() ? std::nullopt : std::optional(read_network(network));
  Job made{read_ranks(ranks, pointer(on)), {}};
  made.placed =
      omnes::described(made.ranks, pointer(on), pointer(over), levels.empty() ? all_levels : parse_levels(levels));
  return made;
}

void bind_topology(nb::module_& m) {
  using nb::arg;
  m.def(
      "job",
      [](const std::string& ranks, const std::string& machine, const std::string& network,
         const std::string& levels) -> Dict { return described(job(ranks, machine, network, levels)); },
      arg("ranks"), arg("machine") = "", arg("network") = "", arg("levels") = "",
      R"(A described job (docs/topology.md): a dict of p, nodes, levels, left_out and groups.

ranks: a file or a pattern such as '8x8 cyclic'; machine: as of machine(), or 'this'; network: a file; levels: such
as 'numa,node'. nodes: the name of each rank's. levels, from the nearest: dicts of name and units (one for each
rank). left_out: dicts of name, kind (off, absent, inactive, declined) and why. groups: dicts of level and groups
(lists of ranks, each with its leader first). Raises ValueError for what cannot be read.)");
  m.def("network", network, arg("file"),
        R"(The switches above each node, by its name, from the nearest to the widest.

Raises ValueError for a file that is none of a network.)");
  m.def(
      "network_file", [] { return network_file(std::nullopt); },
      "Slurm's file of the network on this machine; None where there is none.");
  m.def("inner_units", inner, arg("cpus"), arg("system") = "",
        R"(For each level within a node, the unit of this machine that holds all these CPUs, named by its lowest CPU.

-1: there is no such level; -2: the CPUs are of several units. system: read instead of /sys/devices/system.)");
  m.def(
      "expand_hostlist", [](const std::string& list) { return expand_hostlist(list); }, arg("list"),
      "Slurm's lists of nodes: 'n[01-02,7]' -> ['n01', 'n02', 'n7']. Raises ValueError for what is none.");
  m.attr("level_names") = nb::cast(std::vector<std::string>(level_names.begin(), level_names.end()));
}

}  // namespace omnes::python
