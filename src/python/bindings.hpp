// What the parts of the Python module share. docs of the functions: python/omnes/_core.pyi.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "schedule/schedule.hpp"

namespace omnes::python {

namespace nb = nanobind;

/// The operation of that name. Throws std::invalid_argument, which lists the valid ones.
Operation operation(const std::string& name);

void bind_catalogue(nb::module_& m);
void bind_schedules(nb::module_& m);
void bind_selection(nb::module_& m);
void bind_machine(nb::module_& m);
void bind_mapping(nb::module_& m);

}  // namespace omnes::python
