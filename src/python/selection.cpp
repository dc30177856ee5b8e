// Choices of algorithms, and the tables that make them, as Python sees them.
#include "select/select.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <set>

#include "python/bindings.hpp"
#include "runtime/renumbering.hpp"
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

/// Those of the environment, with another table where one is named.
Settings settings_with(const std::string& table) {
  Settings settings = Settings::from_environment();
  if (table == "off")
    settings.table.reset();
  else if (!table.empty())
    settings.table = read_table(table);
  return settings;
}

/// The name of the table in front of the compiled-in one; empty where there is none.
std::string table_file(const std::string& table) {
  const Settings settings = settings_with(table);
  return settings.table ? settings.table->name : std::string();
}

nb::list rules(const std::string& table) {
  const Settings settings = settings_with(table);
  nb::list list;
  const auto add = [&](const std::vector<Rule>& rules, bool own) {
    for (const Rule& rule : rules) {
      nb::dict d;
      d["operation"] = std::string(name(rule.operation));
      d["text"] = rule.text;
      d["use"] = to_string(rule.choice);
      d["own"] = own;
      list.append(d);
    }
  };
  if (settings.table) add(parse_own_table(settings.table->text, settings.table->name), true);
  add(parse_table(default_table), false);
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
  const Answer answer = Selector(settings_with(table)).choose(question);
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
        nb::arg("commutative") = true, nb::arg("node") = std::vector<std::int32_t>{}, nb::arg("shared_memory") = true,
        nb::arg("table") = "");
  m.def("rules", rules, nb::arg("table") = "");
  m.def("table_file", table_file, nb::arg("table") = "");
  m.def("renumbering", renumbering, nb::arg("operation"), nb::arg("choice"), nb::arg("bytes"), nb::arg("levels"),
        nb::arg("machine") = "", nb::arg("commutative") = true);
}

}  // namespace omnes::python
