// Choices of algorithms, and the tables that make them, as Python sees them.
#include "select/select.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "model/advise.hpp"
#include "model/machine_costs.hpp"
#include "python/bindings.hpp"
#include "runtime/renumbering.hpp"
#include "schedule/hierarchy.hpp"
#include "topology/network.hpp"
#include "transport/shm/heap/adoption.hpp"

namespace omnes::python {

namespace {

nb::dict described(const Choice& choice) {
  nb::dict d;
  d["algorithm"] = choice.algorithm ? choice.algorithm->name : to_string(choice);
  d["radix"] = choice.radix;
  d["segment"] = choice.segment;
  d["text"] = to_string(choice);
  return d;
}

Dict parse(const std::string& name, const std::string& text) { return described(parse_choice(operation(name), text)); }

/// Those of the environment, with another table where one is named.
Settings settings_with(const std::string& table) {
  Settings settings = Settings::from_environment();
  if (table == "off")
    settings.table.reset();
  else if (!table.empty())
    settings.table = read_table(table);
  return settings;
}

/// All that MPI_Init would refuse: throws std::invalid_argument. Returns a line for each variable that is ignored.
std::vector<std::string> check_settings() {
  const Settings settings = Settings::from_environment();
  const Selector selector(settings);
  const auto check = [](const std::string& whose, const auto& read) {
    try {
      read();
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(whose + ": " + error.what());
    }
  };
  if (settings.topology) check("OMNES_TOPOLOGY", [&] { read_network(*settings.topology); });
  if (settings.machine_is_named && settings.machine)
    check("OMNES_MACHINE: " + settings.machine->name, [&] { model::parse_machine(settings.machine->text); });
  return settings.ignored;
}

std::vector<std::string> candidates_of(const std::string& name, std::size_t part_bytes) {
  std::vector<std::string> texts;
  for (const Choice& choice : candidates(operation(name), part_bytes)) texts.push_back(to_string(choice));
  return texts;
}

/// Of those that a table may set, where nobody sets them.
nb::typed<nb::dict, nb::str, nb::str> default_settings(int ranks, bool own_cpus) {
  require_ranks(ranks);
  const shm::Policy policy;
  const shm::Sharing sharing{ranks, own_cpus};
  const auto text = [](std::size_t from) { return from == shm::never ? "off" : bytes_text(from); };
  nb::dict d;
  d["slot_bytes"] = bytes_text(policy.slot_bytes);
  d["single_copy"] = text(policy.single_copy_from(sharing));
  d["direct_copy"] = text(policy.direct_copy_from(sharing));
  return d;
}

/// Name and text of the machine file that a job would know; empty where there is none.
std::pair<std::string, std::string> known_machine_file() {
  const Settings settings = Settings::from_environment();
  return settings.machine ? std::pair(settings.machine->name, settings.machine->text)
                          : std::pair<std::string, std::string>();
}

/// The name of the table in front of the compiled-in one; empty where there is none.
std::string table_file(const std::string& table) {
  const Settings settings = settings_with(table);
  return settings.table ? settings.table->name : std::string();
}

Dicts rules(const std::string& table) {
  const Settings settings = settings_with(table);
  nb::list list;
  const auto add = [&](const std::vector<Rule>& rules, bool own) {
    for (const Rule& rule : rules) {
      nb::dict d;
      d["operation"] = std::string(name(rule.operation));
      d["text"] = rule.text();
      d["use"] = to_string(rule.choice());
      d["own"] = own;
      list.append(d);
    }
  };
  if (settings.table) add(parse_own_table(settings.table->text, settings.table->name), true);
  add(parse_table(default_table), false);
  return list;
}

/// That of the text; without one, what a job would know: null where that is the default.
std::shared_ptr<const model::MachineCosts> known_machine(const Settings& settings, const std::string& text) {
  const std::string& known = text.empty() && settings.machine ? settings.machine->text : text;
  return known.empty() ? nullptr : std::make_shared<const model::MachineCosts>(model::parse_machine(known));
}

/// What becomes of a program's buffers of parts of so many bytes with OMNES_HEAP=auto, where ranks have a CPU each; empty where
/// that is not set.
std::string buffers(std::size_t bytes, int p, const Settings& settings) {
  if (settings.heap != HeapUse::automatic) return "";
  if (!shm::Mappings().answer())
    return "not adopted: this kernel does not say what is mapped where, as Linux 6.11 does";
  const std::size_t from = shm::Policy::adopt_from({.ranks = p});
  if (bytes < from) return "not adopted: of parts shorter than " + bytes_text(from);
  return "adopted when they come back";
}

/// The model is asked as by ranks that have a CPU each.
Dict choose(const std::string& name, int p, std::size_t bytes, std::size_t elements, bool commutative,
            const std::vector<std::int32_t>& node, bool shared_memory, const std::string& table,
            const std::string& machine, bool ask_model, bool host) {
  require_ranks(p);
  const Settings settings = settings_with(table);
  const Selector selector(settings);
  const auto known = known_machine(settings, machine);
  Question question{.operation = operation(name),
                    .p = p,
                    .bytes = bytes,
                    .elements = elements,
                    .commutative = commutative,
                    .machine_file = known != nullptr,
                    .host = host};
  const Placement placement = placed(p, node.empty() ? Levels() : Levels{{"node", node}});
  question.lie_on(node, shared_memory);
  question.fast_caches = question.one_node() && shm::caches_are_fast;
  if (!node.empty()) question.hierarchy = std::make_shared<const Hierarchy>(placement);
  model::Advisor advisor(known, placement, node);
  Adviser model;
  if (ask_model) model = [&](const Question& asked) { return advisor(selector, asked); };
  const Answer answer = selector.choose(question, std::nullopt, model);
  nb::dict d = described(answer.choice);
  d["why"] = answer.why;
  d["buffers"] = buffers(bytes, p, settings);
  return d;
}

/// Of a communicator whose ranks lie so; no levels: on one node. Without a machine, the one that a job would know.
Dict renumbering(const std::string& name, const std::string& text, std::size_t bytes, const Levels& levels,
                 const std::string& machine, bool commutative) {
  const Settings settings = Settings::from_environment();
  const Selector selector(settings);
  const int p = levels.empty() ? 1 : static_cast<int>(levels.front().second.size());
  require_ranks(p);
  Renumbering renumbering(selector.remap(), selector.reproducible(), placed(p, levels),
                          known_machine(settings, machine));
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
  m.def("parse_choice", parse, nb::arg("operation"), nb::arg("text"),
        R"(What a forced choice means: 'knomial:k=4,segment=16K' -> a dict.

algorithm, radix (0: the algorithm's own), segment (bytes; 0: none), text (normalised). Raises ValueError, which
lists what is valid.)");
  m.def("choose", choose, nb::arg("operation"), nb::arg("p"), nb::arg("bytes"), nb::arg("elements"),
        nb::arg("commutative") = true, nb::arg("node") = std::vector<std::int32_t>{}, nb::arg("shared_memory") = true,
        nb::arg("table") = "", nb::arg("machine") = "", nb::arg("model") = true, nb::arg("host") = false,
        R"(What would run, by the environment and the decision tables.

A dict of algorithm, radix, segment (bytes), text, why, and buffers (what OMNES_HEAP=auto does with them; empty
where that is not set). bytes: of a part; elements: of a part. node: of each of
the p ranks; empty: all ranks are on one. shared_memory: whether ranks of a node share it. table: a file in front of
the compiled-in one; 'off': none; empty: the environment's, or the user's. machine: the text of a machine file;
empty: likewise. model: whether it is asked where a rule or a variable leaves the choice to it, as for ranks with a
CPU each. host: whether calls may be left to the host MPI; the algorithm is 'host' then. Raises ValueError for wrong
values, also of the environment's variables.)");
  m.def("check_settings", check_settings,
        R"(A line for each OMNES_ variable of the environment that is ignored, as there is none of its name.

Raises ValueError for a value that MPI_Init would refuse.)");
  m.def("candidates", candidates_of, nb::arg("operation"), nb::arg("part_bytes"),
        R"(What is worth trying for parts of so many bytes.

Every algorithm as it comes, and with a few radices and segments.)");
  m.def("default_settings", default_settings, nb::arg("ranks"), nb::arg("own_cpus"),
        R"(Of the settings that a table may hold, the values where nobody sets them, as text by name.

For blocking calls of so many ranks of one node, which have a CPU each or share some.)");
  m.def("known_machine_file", known_machine_file,
        R"(Name and text of the machine file that a job would know.

OMNES_MACHINE's, or the user's; both empty where there is none.)");
  m.def("rules", rules, nb::arg("table") = "",
        R"(All rules in the order in which they are asked, each a dict.

operation, text (where it stands, and its conditions), use, own (whether it is the user's). table: as of choose.
Raises ValueError for a file that is no table.)");
  m.def("table_file", table_file, nb::arg("table") = "",
        "The file in front of the compiled-in table; empty: none. table: as of choose.");
  m.def("renumbering", renumbering, nb::arg("operation"), nb::arg("choice"), nb::arg("bytes"), nb::arg("levels"),
        nb::arg("machine") = "", nb::arg("commutative") = true,
        R"(Whether a communicator whose ranks lie so is renumbered, with the present environment: a dict.

renumbered; text (the choice, with ' remap=exch' or ' remap=reorder'); gain (the predicted time of messages before,
divided by that after); why. bytes: of a part. levels: (name, unit of each rank), nearest first. Raises ValueError.)");
}

}  // namespace omnes::python
