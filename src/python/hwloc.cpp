// The Python module omnes._hwloc: levels from hwloc's objects. See topology/sysfs.cpp for what programs do.
#include <hwloc.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

static_assert(HWLOC_API_VERSION >> 16 == 2, "python/machine.cpp loads the library of hwloc 2");

namespace {

/// Name, bytes of one group's memory or cache, the CPUs of each group.
using LevelTuple = std::tuple<std::string, std::size_t, std::vector<std::vector<int>>>;
/// The CPUs that this process may use, and the levels, widest first.
using MachinePair = std::pair<std::vector<int>, std::vector<LevelTuple>>;

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

Topology new_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) throw std::invalid_argument("hwloc cannot start");
  return Topology(topology);
}

void load(const Topology& topology) {
  if (hwloc_topology_load(topology.get()) != 0) throw std::invalid_argument("hwloc cannot read the machine's topology");
}

std::vector<int> members(hwloc_const_bitmap_t set) {
  std::vector<int> cpus;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) cpus.push_back(cpu);
  return cpus;
}

std::size_t bytes_of(hwloc_obj_t object) {
  switch (object->type) {
    case HWLOC_OBJ_MACHINE: return object->total_memory;
    case HWLOC_OBJ_NUMANODE: return object->attr->numanode.local_memory;
    case HWLOC_OBJ_L3CACHE:
    case HWLOC_OBJ_L2CACHE: return object->attr->cache.size;
    default: return 0;
  }
}

LevelTuple level(const Topology& topology, const char* name, hwloc_obj_type_t type) {
  std::vector<std::vector<int>> groups;
  std::size_t bytes = 0;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(topology.get(), type, o)) != nullptr;) {
    groups.push_back(members(o->cpuset));
    bytes = std::max(bytes, bytes_of(o));
  }
  return {name, bytes, std::move(groups)};
}

MachinePair read(const Topology& topology) {
  static constexpr std::array<std::pair<const char*, hwloc_obj_type_t>, 6> kinds = {{{"node", HWLOC_OBJ_MACHINE},
                                                                                     {"socket", HWLOC_OBJ_PACKAGE},
                                                                                     {"numa", HWLOC_OBJ_NUMANODE},
                                                                                     {"l3", HWLOC_OBJ_L3CACHE},
                                                                                     {"l2", HWLOC_OBJ_L2CACHE},
                                                                                     {"core", HWLOC_OBJ_CORE}}};
  const auto groups = [](const LevelTuple& level) { return std::get<2>(level).size(); };
  std::vector<LevelTuple> levels;
  for (const auto& [name, type] : kinds) {
    LevelTuple found = level(topology, name, type);
    if (groups(found) > 0) levels.push_back(std::move(found));
  }
  // Which of NUMA, socket and L3 is the wider differs between machines.
  std::ranges::stable_sort(levels, {}, groups);
  const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> bound(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  const bool known = hwloc_topology_is_thissystem(topology.get()) &&
                     hwloc_get_cpubind(topology.get(), bound.get(), HWLOC_CPUBIND_PROCESS) == 0;
  return {members(known ? bound.get() : hwloc_topology_get_allowed_cpuset(topology.get())), std::move(levels)};
}

MachinePair this_machine() {
  const Topology topology = new_topology();
  load(topology);
  return read(topology);
}

MachinePair described_machine(const std::string& description, const std::optional<std::string>& text) {
  const Topology topology = new_topology();
  if (text) {
    // hwloc counts the zero at the end.
    if (hwloc_topology_set_xmlbuffer(topology.get(), text->c_str(), static_cast<int>(text->size()) + 1) != 0 ||
        hwloc_topology_load(topology.get()) != 0)
      throw std::invalid_argument("machine '" + description +
                                  "' is no XML file of hwloc, as lstopo FILE.xml writes it");
  } else {
    if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0)
      throw std::invalid_argument("machine '" + description +
                                  "' is no file, and not a description such as 'package:2 l3:1 core:4 pu:2'");
    load(topology);
  }
  return read(topology);
}

}  // namespace

/// Without a description, of this machine; with one, of that which it or the text of the file of that name describes. Throws
/// std::invalid_argument.
NB_MODULE(_hwloc, m) {
  m.def(
      "machine",
      [](const std::string& description, const std::optional<std::string>& text) {
        return description.empty() ? this_machine() : described_machine(description, text);
      },
      nanobind::arg("description"), nanobind::arg("text").none());
}
