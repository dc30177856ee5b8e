// The machine and its shared memory, as Python sees them.
#include "topology/machine.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "python/bindings.hpp"
#include "select/settings.hpp"
#include "topology/file.hpp"
#include "topology/quota.hpp"
#include "transport/shm/cma.hpp"
#include "transport/shm/geometry.hpp"

namespace omnes::python {

namespace {

Dict described(const std::string& description) {
  const Machine machine = hwloc_machine(description);
  nb::list levels;
  for (const Level& level : machine.levels) {
    nb::dict d;
    d["name"] = level.name;
    d["count"] = level.groups.size();
    d["bytes"] = level.bytes;
    d["cpus"] = level.groups;
    levels.append(d);
  }
  nb::dict d;
  d["cpus"] = machine.usable;
  d["levels"] = levels;
  d["text"] = to_string(machine);
  return d;
}

/// Of so many ranks, where each has a CPU of its own.
std::size_t segment_bytes(int p) {
  require_ranks(p);
  const Settings settings = Settings::from_environment();
  const shm::Geometry geometry = settings.shared_memory.geometry_for({.ranks = p});
  if (const std::string reason = geometry.why_not(); !reason.empty()) throw std::invalid_argument(reason);
  return geometry.total_bytes();
}

/// Tried between two children, as the ranks of a job are: Linux may let a process read its children and nobody else.
bool cma_works() {
  const int secret = 42;
  const pid_t owner = fork();
  if (owner == 0) {
    pause();
    _exit(0);
  }
  if (owner < 0) return false;
  const pid_t reader = fork();
  if (reader == 0) {
    int copy = 0;
    const int error = shm::read_process(owner, reinterpret_cast<std::uintptr_t>(&secret), &copy, sizeof copy);
    _exit(error == 0 && copy == secret ? 0 : 1);
  }
  int status = 1;
  if (reader > 0) waitpid(reader, &status, 0);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  return status == 0;
}

}  // namespace

Machine hwloc_machine(const std::string& description) {
  const std::string in_one_line = one_line(description);
  std::optional<std::string> text;
  std::error_code ignored;
  if (std::filesystem::exists(description, ignored)) {
    try {
      text = read_file(description);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("machine '" + in_one_line + "': " + error.what());
    }
  }
  const nb::module_ hwloc = import_optional({"omnes._hwloc", "hwloc", "libhwloc15", "libhwloc-dev", "libhwloc.so.15"});
  using LevelOf = std::tuple<std::string, std::size_t, std::vector<std::vector<int>>>;
  const auto [usable, levels] =
      nb::cast<std::pair<std::vector<int>, std::vector<LevelOf>>>(hwloc.attr("machine")(in_one_line, text));
  Machine machine{usable, {}};
  for (const auto& [name, bytes, groups] : levels) machine.levels.push_back({name, bytes, groups});
  return machine;
}

void bind_machine(nb::module_& m) {
  m.def("machine", described, nb::arg("description") = "",
        R"(This machine, or one that hwloc describes: a dict of cpus, text and levels.

cpus: those that this process may use. text: one line per level. levels, from node to core: dicts of name, count,
bytes (of one; 0: none), cpus (a list for each). description: an XML file of hwloc, or words such as 'package:2
core:4 pu:2'. Raises ValueError, also where there is no hwloc.)");
  m.def("cma_works", cma_works, "Whether one process may read another's memory (single copy).");
  m.def(
      "cpu_quota", [] { return cpu_quota(); },
      "CPUs that this process and the others of its control groups may keep busy, such as 1.5; None: no limit.");
  m.def("segment_bytes", segment_bytes, nb::arg("p"),
        "Bytes of the shared-memory segment of p ranks, with the settings in force.");
}

}  // namespace omnes::python
