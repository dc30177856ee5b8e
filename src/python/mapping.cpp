// Traffic and mappings, as Python sees them.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "mapping/choose.hpp"
#include "python/bindings.hpp"

namespace omnes::python {

namespace {

using namespace mapping;

nb::dict described(const Cost& cost) {
  nb::dict d;
  d["time"] = cost.time;
  d["amount"] = cost.amount;
  return d;
}

/// What METIS itself found, before its parts get their exact sizes.
struct OwnCut {
  std::int64_t cut = 0;
  int largest_part = 0;
};

nb::module_ import_metis() { return import_optional({"omnes._metis", "METIS", "libmetis5", "libmetis-dev"}); }

Partitioner metis_then_repair(OwnCut& own) {
  return [&own](const Graph& graph, std::span<const std::int32_t> sizes) {
    const std::vector<std::int32_t> wanted(sizes.begin(), sizes.end());
    const auto rough = nb::cast<Parts>(import_metis().attr("parts")(graph.first, graph.peer, graph.weight, wanted));
    std::vector<int> counts(sizes.size(), 0);
    for (const std::int32_t part : rough) own.largest_part = std::max(own.largest_part, ++counts[part]);
    own.cut += cut(graph, rough);
    return repaired(graph, rough, sizes);
  };
}

Method method_named(const std::string& wanted) {
  if (wanted == "auto") return Method::automatic;
  if (wanted == "structure") return Method::structure;
  if (wanted == "general" || wanted == "metis") return Method::general;
  throw std::invalid_argument("no method '" + wanted + "'; valid are auto, structure, general, metis");
}

nb::dict described(const Answer& answer, const Question& question, int fixups_up_to) {
  nb::dict d, seconds, fixups;
  d["method"] = std::string(answer.method);
  d["symmetry"] = std::string(name(answer.symmetry));
  d["rows_seen"] = answer.rows_seen;
  d["pieces"] = answer.pieces;
  d["virtual_of"] = answer.mapping.virtual_of;
  d["real_of"] = answer.mapping.real_of;
  d["before"] = described(answer.before);
  d["after"] = described(answer.after);
  seconds["traffic"] = answer.traffic_s;
  seconds["mapping"] = answer.mapping_s;
  seconds["cost"] = answer.cost_s;
  d["seconds"] = seconds;
  if (question.algorithm && question.placement->p <= fixups_up_to)
    for (const Fixup fixup : {Fixup::exchange, Fixup::reorder}) {
      nb::dict one;
      const std::string reason = why_not(question.algorithm->operation, fixup, false);
      if (!reason.empty()) {
        one["why_not"] = reason;
      } else {
        const FixupCost cost = fixup_cost(question, answer.mapping, fixup);
        one["time"] = cost.time;
        one["copied"] = cost.copied;
      }
      fixups[nb::str(name(fixup).data())] = one;
    }
  d["fixups"] = fixups;
  return d;
}

/// An algorithm, or recorded traffic.
struct Source {
  const Algorithm* algorithm = nullptr;
  Problem problem;
  std::optional<Traffic> recorded;
};

Dict map_ranks(const Source& source, const Levels& levels, const std::vector<double>& bandwidths,
               const std::string& method, int fixups_up_to) {
  const Placement placement = placed(source.problem.p, levels);
  OwnCut own;
  Question question{.algorithm = source.algorithm,
                    .problem = source.problem,
                    .recorded = source.recorded ? &*source.recorded : nullptr,
                    .placement = &placement,
                    .bandwidths = bandwidths.empty() ? default_bandwidths(placement) : bandwidths,
                    .method = method_named(method)};
  if (question.bandwidths.size() != placement.levels.size() + 1)
    throw std::invalid_argument(std::to_string(question.bandwidths.size()) + " bandwidths for " +
                                std::to_string(placement.levels.size()) + " levels; one more than levels are needed");
  for (const double bandwidth : question.bandwidths)
    if (!(bandwidth > 0) || !std::isfinite(bandwidth))
      throw std::invalid_argument("bandwidth " + std::to_string(bandwidth) + " is none: valid: above 0");
  if (method == "metis") question.partitioner = metis_then_repair(own);
  const Answer answer = choose(question);
  nb::dict d = described(answer, question, fixups_up_to);
  d["bandwidths"] = question.bandwidths;
  if (method == "metis") {
    nb::dict metis;
    metis["cut"] = own.cut;
    metis["largest_part"] = own.largest_part;
    d["metis"] = metis;
  }
  return d;
}

/// Rows as {rank: {peer: amount}} without those that are empty.
nb::typed<nb::dict, int, nb::typed<nb::dict, int, int>> rows(const Source& source) {
  const Traffic traffic = source.recorded ? *source.recorded : traffic_of(*source.algorithm, source.problem);
  nb::dict all;
  for (int rank = 0; rank < traffic.p; ++rank) {
    nb::dict row;
    for (std::int64_t e = traffic.first[rank]; e < traffic.first[rank + 1]; ++e)
      row[nb::int_(traffic.peer[e])] = traffic.amount[e];
    if (row.size() > 0) all[nb::int_(rank)] = row;
  }
  return all;
}

Source of_algorithm(const std::string& operation_name, const std::string& name, int p, int root, int radix,
                    int segments) {
  const Operation which = operation(operation_name);
  const Algorithm* found = find_algorithm(which, name);
  if (!found) throw std::invalid_argument("no algorithm '" + name + "' for " + operation_name);
  require_ranks(p);
  require_within("root", root, 0, p - 1);
  require_within("segments", segments, 1, max_ranks);
  return {found, {.operation = which, .p = p, .root = root, .radix = radix, .segments = segments}, std::nullopt};
}

Source of_text(const std::string& text, int p) {
  require_within("p", p, 0, max_mapped);
  std::istringstream lines(text);
  Source source;
  source.recorded = read_traffic(lines, p);
  source.problem.p = source.recorded->p;
  return source;
}

/// Of (traffic, its ranks among all, how often it counts per part), added up.
Source sum_of_all(int p, const std::vector<std::tuple<Source*, std::vector<std::int32_t>, double>>& parts) {
  require_within("p", p, 1, max_mapped);
  std::deque<Traffic> made;
  std::vector<Share> shares;
  for (const auto& [source, members, scale] : parts) {
    if (source == nullptr) throw std::invalid_argument("no traffic; valid: what traffic() or read_traffic() returns");
    if (!std::isfinite(scale) || scale < 0)
      throw std::invalid_argument("scale " + std::to_string(scale) + " is none: valid: 0 or more");
    if (members.size() != static_cast<std::size_t>(source->problem.p))
      throw std::invalid_argument("traffic of " + std::to_string(source->problem.p) + " ranks for " +
                                  std::to_string(members.size()) + " members");
    for (const std::int32_t member : members)
      if (member < 0 || member >= p)
        throw std::invalid_argument("no rank " + std::to_string(member) + " among " + std::to_string(p));
    const int pieces = source->algorithm ? pieces_of(*source->algorithm, source->problem) : 1;
    made.push_back(source->recorded ? *source->recorded : traffic_of(*source->algorithm, source->problem));
    shares.push_back({&made.back(), members, scale / pieces});
  }
  Source source;
  source.problem.p = p;
  source.recorded = sum_of(p, shares);
  return source;
}

}  // namespace

Placement placed(int p, const Levels& levels) {
  Placement placement{.p = p, .levels = {}};
  for (const auto& [name, unit] : levels) {
    if (unit.size() != static_cast<std::size_t>(p))
      throw std::invalid_argument("level '" + name + "' places " + std::to_string(unit.size()) + " ranks, not " +
                                  std::to_string(p));
    for (const std::int32_t one : unit) require_within("unit", one, 0, std::numeric_limits<std::int32_t>::max());
    placement.levels.push_back({name, unit});
  }
  return placement;
}

void bind_mapping(nb::module_& m) {
  using nb::arg;
  nb::class_<Source>(m, "Traffic", "Who sends how much to whom: of an algorithm, in blocks, or recorded, in bytes.")
      .def_prop_ro(
          "p", [](const Source& source) { return source.problem.p; }, "The number of ranks.")
      .def("rows", rows, "{rank: {peer: amount}}, without ranks that send nothing.")
      .def("map", map_ranks, arg("levels"), arg("bandwidths") = std::vector<double>{}, arg("method") = "auto",
           arg("fixups_up_to") = 256,
           R"(Which ranks should share a unit: a dict.

levels: (name, unit of each of the p ranks), nearest first. bandwidths: by level, and one more beyond the
last, in bytes per second if times are to be seconds; empty: the default, which only has their ratios.
method: auto, structure, general, metis. fixups_up_to: ranks up to which fixups are priced.

method ('none': nothing is cheaper), symmetry, rows_seen, pieces, virtual_of and real_of (of each rank),
bandwidths; before and after: time and amount (by level); seconds: traffic, mapping, cost; fixups: exchange
and reorder, each time and copied, or why_not; with metis: cut and largest_part, its own. Raises ValueError.)");
  m.def("traffic", of_algorithm, arg("operation"), arg("algorithm"), arg("p"), arg("root") = 0, arg("radix") = 0,
        arg("segments") = 1,
        R"(Who sends how many blocks to whom in an algorithm.

Raises ValueError for names and numbers that are not valid.)");
  m.def("read_traffic", of_text, arg("text"), arg("p") = 0,
        R"(Recorded traffic, from lines of 'rank rank bytes' and # comments; of p ranks or more.

Raises ValueError, which names the line.)");
  m.def("sum_traffic", sum_of_all, arg("p"), arg("parts"),
        R"(Traffic added up.

parts: (traffic, its ranks among all p, how often it counts per part). Raises ValueError.)");
  m.def(
      "require_metis", [] { import_metis(); },
      "Raises ValueError where the method metis cannot be had: why, and what to install.");
}

}  // namespace omnes::python
