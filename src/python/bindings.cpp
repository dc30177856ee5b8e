// The Python module omnes._core: plain functions over names, numbers, lists and dictionaries.
#include "python/bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = R"(What the compiled core offers to Python.

Wrong arguments raise ValueError with one line that says what is valid. Ranks are at most 2^20, of proofs 2^14, of
mappings 2^24; files are regular ones of 16 MiB at most.)";
  m.attr("__version__") = OMNES_VERSION;
  omnes::python::bind_catalogue(m);
  omnes::python::bind_schedules(m);
  omnes::python::bind_selection(m);
  omnes::python::bind_machine(m);
  omnes::python::bind_topology(m);
  omnes::python::bind_model(m);
  omnes::python::bind_measuring(m);
  omnes::python::bind_mapping(m);
}
