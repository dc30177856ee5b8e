// Schedules and their proofs, as Python sees them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "algorithms/proof.hpp"
#include "algorithms/samples.hpp"
#include "python/bindings.hpp"
#include "schedule/hierarchy.hpp"
#include "schedule/text.hpp"
#include "schedule/verify.hpp"

namespace omnes::python {

namespace {

const Algorithm& algorithm(Operation operation, const std::string& wanted) {
  if (const Algorithm* found = find_algorithm(operation, wanted)) return *found;
  std::string valid;
  for (const Algorithm* one : catalogue())
    if (one->operation == operation) valid += (valid.empty() ? "" : ", ") + std::string(one->name);
  throw std::invalid_argument("no algorithm '" + wanted + "' for " + std::string(name(operation)) + "; valid are " +
                              valid);
}

constexpr int max_proved = 1 << 14;  // ranks: a proof looks at the messages of each pair

/// Segments times ranks are about as many ops.
void require_segments(int segments, int p) { require_within("segments", segments, 1, std::max(1, max_ranks / p)); }

using Nodes = std::vector<std::int32_t>;

/// `nodes`: the node of each rank; empty: nothing is known.
std::shared_ptr<const Hierarchy> hierarchy(int p, const Nodes& nodes) {
  if (nodes.empty()) return nullptr;
  return std::make_shared<const Hierarchy>(placed(p, {{"node", nodes}}));
}

Schedule schedule(const std::string& operation_name, const std::string& wanted, int p, int rank, int root, int radix,
                  int segments, bool in_place, const Nodes& nodes) {
  require_ranks(p);
  require_within("rank", rank, 0, p - 1);
  require_within("root", root, 0, p - 1);
  require_segments(segments, p);
  const Operation which = operation(operation_name);
  Problem problem{which, p, rank, root, in_place, radix, segments};
  if (among_neighbors(which)) problem.neighbors = sample_neighbors(Topology::torus, p, rank);
  problem.hierarchy = hierarchy(p, nodes);
  return build(algorithm(which, wanted), problem);
}

/// The first fault in the schedules of all ranks; nothing when they are proved.
std::optional<std::string> proof(const std::string& operation_name, const std::string& wanted, int p, int root,
                                 int radix, int segments, bool in_place) {
  require_within("p", p, 1, max_proved);
  require_within("root", root, 0, p - 1);
  require_segments(segments, p);
  const std::string fault = prove(algorithm(operation(operation_name), wanted), p, root, radix, segments, in_place);
  return fault.empty() ? std::nullopt : std::optional(fault);
}

/// The same of schedules as text, one for each rank in order.
std::optional<std::string> proof_of_texts(const std::vector<std::string>& texts, bool ordered) {
  std::vector<Schedule> schedules;
  for (const std::string& text : texts) schedules.push_back(from_text(text));
  const std::optional<Finding> finding = verify(schedules, {.ordered = ordered});
  return finding ? std::optional(to_text(*finding)) : std::nullopt;
}

nb::object described(const Blocks& blocks) {
  if (blocks.count == 0) return nb::none();
  nb::dict d;
  d["buffer"] = std::string(name(blocks.buffer));
  d["first"] = blocks.first;
  d["count"] = blocks.count;
  return d;
}

nb::list peers_of(const Schedule& schedule, const Op& op) {
  nb::list peers;
  if (op.kind == OpKind::send && op.published) {
    for (int rank = 0; rank < schedule.problem.p; ++rank)
      if (rank != schedule.problem.rank) peers.append(rank);
  } else if (op.kind == OpKind::send) {
    for (const int peer : schedule.peers_of(op)) peers.append(peer);
  } else if (op.peer >= 0) {
    peers.append(op.peer);
  }
  return peers;
}

nb::dict described(const Schedule& schedule, const Op& op) {
  nb::list deps;
  for (const std::uint32_t dep : schedule.deps_of(op)) deps.append(dep);
  nb::dict d;
  d["kind"] = std::string(name(op.kind));
  d["peers"] = peers_of(schedule, op);
  d["published"] = op.published;
  d["incoming_first"] = op.incoming_first;
  d["a"] = described(op.a);
  d["b"] = described(op.b);
  d["dst"] = described(op.dst);
  d["deps"] = deps;
  return d;
}

}  // namespace

void bind_schedules(nb::module_& m) {
  using Text = const std::string&;
  using nb::arg;
  m.def(
      "schedule_text",
      [](Text operation, Text algorithm, int p, int rank, int root, int radix, int segments, bool in_place,
         const Nodes& nodes) {
        return to_text(schedule(operation, algorithm, p, rank, root, radix, segments, in_place, nodes));
      },
      arg("operation"), arg("algorithm"), arg("p"), arg("rank"), arg("root") = 0, arg("radix") = 0, arg("segments") = 1,
      arg("in_place") = false, arg("nodes") = Nodes(),
      R"(The schedule of one rank in the text form.

nodes: the node of each of the p ranks, for hierarchical algorithms; empty: all ranks are one group. radix 0: the
algorithm's own. Raises ValueError for names and numbers that are not valid, saying which are.)");
  m.def(
      "schedule_ops",
      [](Text operation, Text algorithm, int p, int rank, int root, int radix, int segments, bool in_place,
         const Nodes& nodes) -> Dicts {
        const Schedule built = schedule(operation, algorithm, p, rank, root, radix, segments, in_place, nodes);
        nb::list ops;
        for (const Op& op : built.ops) ops.append(described(built, op));
        return ops;
      },
      arg("operation"), arg("algorithm"), arg("p"), arg("rank"), arg("root") = 0, arg("radix") = 0, arg("segments") = 1,
      arg("in_place") = false, arg("nodes") = Nodes(),
      R"(The schedule of one rank as data, for drawing: a dict for each op, in program order.

kind, peers (a list; a publish lists all others), published, incoming_first; a, b and dst (each None, or a dict of
buffer, first and count, in blocks); deps (indices of ops that have to be complete before). Arguments and errors: as
of schedule_text.)");
  m.def(
      "pieces",
      [](Text operation, Text algorithm, int p, int root, int radix, int segments, bool in_place, const Nodes& nodes) {
        return schedule(operation, algorithm, p, 0, root, radix, segments, in_place, nodes).pieces;
      },
      arg("operation"), arg("algorithm"), arg("p"), arg("root") = 0, arg("radix") = 0, arg("segments") = 1,
      arg("in_place") = false, arg("nodes") = Nodes(),
      "Blocks per part in such a schedule. Arguments and errors: as of schedule_text.");
  m.def(
      "verify",
      [](Text operation, Text algorithm, int p, int root, int radix, int segments, bool in_place) {
        const nb::gil_scoped_release parallel;
        return proof(operation, algorithm, p, root, radix, segments, in_place);
      },
      arg("operation"), arg("algorithm"), arg("p"), arg("root") = 0, arg("radix") = 0, arg("segments") = 1,
      arg("in_place") = false,
      R"(None when the schedules of all p ranks are proved, else the first fault in one line.

p is at most 2^14. Raises ValueError for names and numbers that are not valid. Runs without the GIL.)");
  m.def("verify_texts", proof_of_texts, arg("texts"), arg("ordered") = false,
        R"(The same for schedules in the text form, one for each rank in order.

ordered: whether reductions have to combine in the order of the ranks. Raises ValueError for what is no schedule:
the line, what was found and what was expected.)");
  m.def(
      "why_not",
      [](Text operation_name, Text name, int p, int radix, int segments, bool commutative, const Nodes& nodes) {
        require_ranks(p);
        require_segments(segments, p);
        Problem problem{operation(operation_name), p, 0, 0, false, radix, segments};
        problem.hierarchy = hierarchy(p, nodes);
        return why_not(algorithm(problem.operation, name), problem, commutative);
      },
      arg("operation"), arg("algorithm"), arg("p"), arg("radix") = 0, arg("segments") = 1, arg("commutative") = true,
      arg("nodes") = Nodes(),
      R"(Why the algorithm cannot solve such a problem; empty when it can.

commutative: whether the reduction is. Other arguments and errors: as of schedule_text.)");
}

}  // namespace omnes::python
