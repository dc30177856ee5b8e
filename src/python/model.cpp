// Predictions, as Python sees them.
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "model/hockney.hpp"
#include "model/predict.hpp"
#include "python/bindings.hpp"

namespace omnes::python {

namespace {

nb::dict described(const model::Split& split) {
  nb::dict d;
  d["latency"] = split.latency;
  d["bandwidth"] = split.bandwidth;
  d["overhead"] = split.overhead;
  d["reduction"] = split.reduction;
  d["copy"] = split.copy;
  return d;
}

model::MachineCosts machine_of(const std::string& toml) {
  return model::parse_machine(toml.empty() ? model::default_machine : std::string_view(toml));
}

Dicts predict(const std::string& operation_name, const std::string& choice, int p,
              const std::vector<std::size_t>& sizes, const std::string& toml, int ranks_per_node,
              const std::string& reduction, int root, bool cyclic) {
  require_ranks(p);
  require_within("root", root, 0, p - 1);
  const model::MachineCosts machine = machine_of(toml);
  const int per_node = ranks_per_node > 0 ? ranks_per_node : machine.ranks_per_node;
  const Placement placement = cyclic ? model::dealt_to(p, per_node) : model::blocks_of(p, per_node);
  std::vector<model::Prediction> predictions;
  {
    const nb::gil_scoped_release parallel;
    model::Predictor predictor({&machine, &placement, reduction}, parse_choice(operation(operation_name), choice), p,
                               root);
    for (const std::size_t bytes : sizes) predictions.push_back(predictor(bytes));
  }
  nb::list list;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const model::Prediction& one = predictions[i];
    nb::dict d;
    d["bytes"] = sizes[i];
    d["seconds"] = one.seconds;
    d["path"] = described(one.path);
    d["method"] = std::string(model::name(one.method));
    d["simulated"] = one.simulated;
    if (p <= 64) d["finished"] = one.rank_finished;
    list.append(d);
  }
  return list;
}

Dict described_machine(const std::string& toml) {
  const model::MachineCosts machine = machine_of(toml);
  nb::dict d;
  d["name"] = machine.name;
  d["source"] = machine.source;
  d["ranks_per_node"] = machine.ranks_per_node;
  nb::list levels;
  for (const model::LevelCosts& level : machine.levels) levels.append(level.name);
  d["levels"] = levels;
  nb::list reductions;
  for (const auto& [name, curve] : machine.reduce) reductions.append(name);
  d["reductions"] = reductions;
  return d;
}

Dicts formulas() {
  nb::list list;
  for (const model::Formula& row : model::formulas()) {
    nb::dict d;
    d["number"] = row.number;
    d["operation"] = std::string(name(row.operation));
    d["algorithm"] = row.algorithm;
    d["text"] = row.text;
    list.append(d);
  }
  return list;
}

double hockney(const std::string& operation_name, const std::string& algorithm, int p, double bytes, double alpha,
               double beta, double gamma) {
  require_ranks(p);
  if (const model::Formula* row = model::find_formula(operation(operation_name), algorithm))
    return model::seconds(*row, {alpha, beta, gamma}, p, bytes);
  throw std::invalid_argument("no formula for " + operation_name + '/' + algorithm);
}

}  // namespace

void bind_model(nb::module_& m) {
  using nb::arg;
  m.def("predict", predict, arg("operation"), arg("choice"), arg("p"), arg("sizes"), arg("machine") = "",
        arg("ranks_per_node") = 0, arg("reduction") = "f64 sum", arg("root") = 0, arg("cyclic") = false,
        R"(Predicted times for parts of each of these sizes, in bytes: a dict for each.

bytes; seconds; path: seconds of latency, bandwidth, overhead, reduction and copy on the critical path, which add up
to these; method; simulated (ranks); for p <= 64, finished (seconds, of each simulated rank). machine: the text of a
machine file; empty: the default. ranks_per_node: 0: the machine's. cyclic: ranks are dealt to the nodes in turns
rather than in order. reduction: type and operation; where the machine lacks it, that of f64 sum. Raises ValueError.
Runs without the GIL.)");
  m.def("described_machine", described_machine, arg("machine") = "",
        R"(What the text of a machine file (empty: the default) describes.

A dict of name, source, ranks_per_node, levels and reductions (names). Raises ValueError.)");
  m.def("default_machine", [] { return std::string(model::default_machine); }, "The text of the default machine file.");
  m.def("formulas", formulas, "The closed formulas, each a dict of number, operation, algorithm and text.");
  m.def("hockney", hockney, arg("operation"), arg("algorithm"), arg("p"), arg("bytes"), arg("alpha"), arg("beta"),
        arg("gamma") = 0.0,
        R"(Seconds by the closed formula of that algorithm, for parts of so many bytes.

alpha: seconds per message; beta: seconds per byte sent; gamma: seconds per byte combined. Raises ValueError where
there is no formula.)");
}

}  // namespace omnes::python
