// Choices of algorithms, and the tables that make them, as Python sees them.
#include "select/select.hpp"

#include <nanobind/stl/vector.h>

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

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

std::string text_of(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) throw std::invalid_argument("cannot read the decision table " + path);
  return text.str();
}

/// The compiled-in table, unless a file is named.
nb::list rules(const std::string& table) {
  nb::list list;
  for (const Rule& rule : table.empty() ? parse_table(default_table) : parse_table(text_of(table))) {
    nb::dict d;
    d["operation"] = std::string(name(rule.operation));
    d["text"] = rule.text;
    d["use"] = to_string(rule.choice);
    list.append(d);
  }
  return list;
}

nb::dict choose(const std::string& name, int p, std::size_t bytes, std::size_t elements, bool commutative,
                const std::vector<std::int32_t>& node, bool shared_memory, const std::string& table) {
  Question question{
      .operation = operation(name), .p = p, .bytes = bytes, .elements = elements, .commutative = commutative};
  if (!node.empty()) {
    question.nodes = static_cast<int>(std::set(node.begin(), node.end()).size());
    question.hierarchy = std::make_shared<const Hierarchy>(Placement{p, {{"node", node}}});
  }
  question.shared_memory = shared_memory && (question.nodes == 1 || question.nodes < p);
  const Selector selector = table.empty() ? Selector::from_environment() : Selector(Settings{}, text_of(table));
  const Answer answer = selector.choose(question);
  nb::dict d = described(answer.choice);
  d["why"] = answer.why;
  return d;
}

}  // namespace

void bind_selection(nb::module_& m) {
  m.def("parse_choice", parse, nb::arg("operation"), nb::arg("text"));
  m.def("choose", choose, nb::arg("operation"), nb::arg("p"), nb::arg("bytes"), nb::arg("elements"),
        nb::arg("commutative") = true, nb::arg("node") = std::vector<std::int32_t>{}, nb::arg("shared_memory") = true,
        nb::arg("table") = "");
  m.def("rules", rules, nb::arg("table") = "");
}

}  // namespace omnes::python
