// Choices of algorithms, as Python sees them.
#include "select/select.hpp"

#include "python/bindings.hpp"

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

}  // namespace

void bind_selection(nb::module_& m) {
  m.def("parse_choice", parse, nb::arg("operation"), nb::arg("text"));
  m.def("choose", choose, nb::arg("operation"), nb::arg("p"), nb::arg("bytes"), nb::arg("elements"),
        nb::arg("commutative") = true, nb::arg("one_node") = true);
}

}  // namespace omnes::python
