// The machine and its shared memory, as Python sees them.
#include "topology/machine.hpp"

#include <nanobind/stl/vector.h>

#include "python/bindings.hpp"
#include "transport/shm/endpoint.hpp"

namespace omnes::python {

namespace {

nb::dict described(const std::string& synthetic) {
  const Machine machine = synthetic.empty() ? this_machine() : synthetic_machine(synthetic);
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

std::size_t segment_bytes(int p, int slots, std::size_t slot_bytes) {
  return shm::Geometry{p, slots, slot_bytes}.total_bytes();
}

}  // namespace

void bind_machine(nb::module_& m) {
  m.def("machine", described, nb::arg("synthetic") = "");
  m.def("segment_bytes", segment_bytes, nb::arg("p"), nb::arg("slots") = 8, nb::arg("slot_bytes") = 8192);
}

}  // namespace omnes::python
