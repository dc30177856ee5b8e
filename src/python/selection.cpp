// Choices of algorithms, as Python sees them.
#include "select/select.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "python/bindings.hpp"
#include "runtime/renumbering.hpp"

namespace omnes::python {

namespace {

nb::dict described(const Choice& choice) {
  nb::dict d;
  d["algorithm"] = choice.algorithm->name;
  d["radix"] = choice.radix;
  d["segment"] = choice.segment;
  d["text"] = to_string(choice);
  return d;
}

nb::dict parse(const std::string& name, const std::string& text) {
  return described(parse_choice(operation(name), text));
}

nb::dict choose(const std::string& name, int p, std::size_t bytes, std::size_t elements, bool commutative,
                bool one_node) {
  const Answer answer =
      Selector::from_environment().choose({operation(name), p, bytes, elements, commutative, one_node});
  nb::dict d = described(answer.choice);
  d["why"] = answer.why;
  return d;
}

/// Of a communicator whose ranks lie so; no levels: on one node.
nb::dict renumbering(const std::string& name, const std::string& text, std::size_t bytes, const Levels& levels,
                     const std::string& machine, bool commutative) {
  const Selector selector = Selector::from_environment();
  const int p = levels.empty() ? 1 : static_cast<int>(levels.front().second.size());
  std::optional<model::Machine> known;
  if (!machine.empty()) known = model::parse_machine(machine);
  Renumbering renumbering(selector.remap(), selector.reproducible(), placed(p, levels), std::move(known));
  const Renumbered found =
      renumbering.find(parse_choice(operation(name), text), operation(name), 0, bytes, commutative);
  nb::dict d;
  d["renumbered"] = found.mapping != nullptr;
  d["text"] = text + found.text();
  d["gain"] = found.gain;
  d["why"] = found.why;
  return d;
}

}  // namespace

void bind_selection(nb::module_& m) {
  m.def("parse_choice", parse, nb::arg("operation"), nb::arg("text"));
  m.def("choose", choose, nb::arg("operation"), nb::arg("p"), nb::arg("bytes"), nb::arg("elements"),
        nb::arg("commutative") = true, nb::arg("one_node") = true);
  m.def("renumbering", renumbering, nb::arg("operation"), nb::arg("choice"), nb::arg("bytes"), nb::arg("levels"),
        nb::arg("machine") = "", nb::arg("commutative") = true);
}

}  // namespace omnes::python
