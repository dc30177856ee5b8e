// Choices of algorithms, as Python sees them.
#include "select/select.hpp"

#include <nanobind/stl/vector.h>

#include <set>

#include "python/bindings.hpp"
#include "schedule/hierarchy.hpp"

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
                const std::vector<std::int32_t>& node, bool shared_memory) {
  Question question{
      .operation = operation(name), .p = p, .bytes = bytes, .elements = elements, .commutative = commutative};
  if (!node.empty()) {
    question.nodes = static_cast<int>(std::set(node.begin(), node.end()).size());
    question.hierarchy = std::make_shared<const Hierarchy>(Placement{p, {{"node", node}}});
  }
  question.shared_memory = shared_memory && (question.nodes == 1 || question.nodes < p);
  const Answer answer = Selector::from_environment().choose(question);
  nb::dict d = described(answer.choice);
  d["why"] = answer.why;
  return d;
}

}  // namespace

void bind_selection(nb::module_& m) {
  m.def("parse_choice", parse, nb::arg("operation"), nb::arg("text"));
  m.def("choose", choose, nb::arg("operation"), nb::arg("p"), nb::arg("bytes"), nb::arg("elements"),
        nb::arg("commutative") = true, nb::arg("node") = std::vector<std::int32_t>{}, nb::arg("shared_memory") = true);
}

}  // namespace omnes::python
