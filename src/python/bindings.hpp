// What the parts of the Python module share. The docstrings are also in python/omnes/_core.pyi: `make stubs`.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schedule/placement.hpp"
#include "schedule/schedule.hpp"
#include "topology/described.hpp"
#include "topology/machine.hpp"

namespace omnes::python {

namespace nb = nanobind;

/// What functions return, as the stub names it.
using Dict = nb::typed<nb::dict, nb::str, nb::any>;
using Dicts = nb::typed<nb::list, Dict>;
using Names = nb::typed<nb::list, nb::str>;

inline constexpr int max_ranks = 1 << 20;   // of schedules, predictions and choices
inline constexpr int max_mapped = 1 << 24;  // of mappings, which need no schedules where traffic is recorded
/// Throw std::invalid_argument, which says what is valid.
void require_within(const char* what, std::int64_t value, std::int64_t first, std::int64_t last);
void require_ranks(int p);

/// The operation of that name. Throws std::invalid_argument, which lists the valid ones.
Operation operation(const std::string& name);

/// A job that words describe: --nodes, --shape ("this": this one), --network, --levels; empty: not given. Throws
/// std::invalid_argument. For all functions over placements.
struct Job {
  std::vector<Site> ranks;
  Placed placed;
};
Job job(const std::string& ranks, const std::string& machine, const std::string& network, const std::string& levels);

/// Levels as Python has them, nearest first: a name, and the unit of each rank.
using Levels = std::vector<std::pair<std::string, std::vector<std::int32_t>>>;
/// Throws std::invalid_argument where one does not place p ranks.
Placement placed(int p, const Levels& levels);

/// A module beside this one that uses a library which not every system has: imported when it is asked for. Throws
/// std::invalid_argument where it cannot be had: one line that says what to install.
struct Optional {
  const char* module;            ///< "omnes._hwloc"
  const char* library;           ///< as people call it
  const char* package;           ///< Debian's with the library
  const char* headers;           ///< Debian's, to build with it
  const char* object = nullptr;  ///< the library's file, loaded first, where the module is not linked with it
};
nb::module_ import_optional(const Optional& wanted);

/// This machine, or one that hwloc describes. Throws std::invalid_argument, also where there is no hwloc.
Machine hwloc_machine(const std::string& description);

void bind_catalogue(nb::module_& m);
void bind_schedules(nb::module_& m);
void bind_selection(nb::module_& m);
void bind_machine(nb::module_& m);
void bind_topology(nb::module_& m);
void bind_model(nb::module_& m);
void bind_measuring(nb::module_& m);
void bind_mapping(nb::module_& m);

}  // namespace omnes::python
