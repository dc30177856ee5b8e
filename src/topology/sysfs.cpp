// The units that hold some CPUs, as Linux tells: /sys/devices/system.
//
// Why not hwloc: it reads the whole machine, which takes every rank tens of milliseconds on a large one, and Open MPI brings
// an hwloc of its own into the same process. A rank needs to know only what its own lowest CPU shares and whether the rest
// of its CPUs is within: one line of text for each level.
#include <dirent.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "topology/hostlist.hpp"
#include "topology/whereabouts.hpp"

namespace omnes::inline topology {

namespace {

namespace fs = std::filesystem;

/// The first line of a file; empty when there is none.
std::string line_of(const fs::path& file) {
  std::string line;
  std::ifstream stream(file);
  std::getline(stream, line);
  return line;
}

/// The CPUs in the first of these files that exists: older kernels have other names.
std::vector<int> cpus_in(std::initializer_list<fs::path> files) {
  for (const fs::path& file : files) {
    const std::string list = line_of(file);
    if (list.empty()) continue;
    try {
      return parse_cpus(list);
    } catch (const std::invalid_argument&) {  // what a kernel has never said is as good as nothing
    }
  }
  return {};
}

/// None where there is no such folder. Not by the C++ library, which ends the process for want of memory.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (!open) return names;
  while (const dirent* entry = readdir(open.get())) names.emplace_back(entry->d_name);
  return names;
}

std::vector<int> sharing_cache(const fs::path& cpu, const char* level) {
  for (const std::string& name : names_in(cpu / "cache")) {
    const fs::path cache = cpu / "cache" / name;
    if (line_of(cache / "level") == level && line_of(cache / "type") != "Instruction")
      return cpus_in({cache / "shared_cpu_list"});
  }
  return {};
}

/// A CPU's folder has a link to its memory's, node0 or another.
std::vector<int> sharing_memory(const fs::path& cpu, const fs::path& nodes) {
  for (const std::string& name : names_in(cpu))
    if (name.starts_with("node") && name.size() > 4 && name.find_first_not_of("0123456789", 4) == name.npos)
      return cpus_in({nodes / name / "cpulist"});
  return {};
}

fs::path folder_of(int cpu, const fs::path& system) { return system / "cpu" / ("cpu" + std::to_string(cpu)); }

int unit(const std::vector<int>& shared, const std::vector<int>& cpus) {
  if (shared.empty()) return no_unit;
  return std::ranges::includes(shared, cpus) ? shared.front() : several_units;
}

}  // namespace

InnerUnits inner_units(const std::vector<int>& cpus, const std::string& system) {
  const fs::path cpu = folder_of(cpus.front(), system);
  const fs::path topology = cpu / "topology";
  // In the order of level_names.
  return {unit(cpus_in({topology / "core_cpus_list", topology / "thread_siblings_list"}), cpus),
          unit(sharing_cache(cpu, "2"), cpus), unit(sharing_cache(cpu, "3"), cpus),
          unit(sharing_memory(cpu, fs::path(system) / "node"), cpus),
          unit(cpus_in({topology / "package_cpus_list", topology / "core_siblings_list"}), cpus)};
}

std::vector<int> near_cpus(int cpu, const std::string& system) {
  const fs::path folder = folder_of(cpu, system);
  const std::vector<int> near = sharing_cache(folder, "3");
  return near.empty() ? sharing_memory(folder, fs::path(system) / "node") : near;
}

std::vector<int> own_cpus() {
  std::vector<int> cpus;
  // The kernel refuses a set that is smaller than its own.
  for (int count = CPU_SETSIZE; count <= 1 << 20; count *= 2) {
    cpu_set_t* set = CPU_ALLOC(count);
    const std::size_t bytes = CPU_ALLOC_SIZE(count);
    const bool told = set != nullptr && sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; told && cpu < count; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    CPU_FREE(set);
    if (told) break;
  }
  return cpus;
}

Whereabouts own_whereabouts(const std::string& host, const Network* network, std::uint64_t memory) {
  const std::vector<int> cpus = own_cpus();
  InnerUnits inner;
  inner.fill(several_units);  // where the kernel does not tell
  return whereabouts(host, cpus.empty() ? inner : inner_units(cpus), network, memory);
}

}  // namespace omnes::inline topology
