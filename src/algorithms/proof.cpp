// One case of one algorithm, for all ranks.
#include "algorithms/proof.hpp"

#include <algorithm>

#include "algorithms/samples.hpp"
#include "schedule/hierarchy.hpp"
#include "schedule/verify.hpp"

namespace omnes::inline algorithms {

namespace {

bool in_place_at(Operation operation, bool at_root) {
  return has_in_place(operation) && (at_root || !rooted(operation));
}

std::string describe(const Algorithm& algorithm, const Problem& problem, bool in_place) {
  std::string text = std::string(name(algorithm.operation)) + "/" + algorithm.name + " p=" + std::to_string(problem.p);
  if (rooted(algorithm.operation)) text += " root=" + std::to_string(problem.root);
  if (problem.radix != 0) text += " k=" + std::to_string(problem.radix);
  if (problem.segments != 1) text += " segments=" + std::to_string(problem.segments);
  if (problem.first_group > 0) text += " first_group=" + std::to_string(problem.first_group);
  return in_place ? text + " in place" : text;
}

/// What is wrong with the schedules of all ranks, if anything.
std::string fault(const Algorithm& algorithm, const Problem& problem, std::span<const Schedule> schedules) {
  if (!algorithm.needs_all_counts && std::ranges::any_of(schedules, needs_all_counts))
    return "needs all counts, but does not say so";
  const bool ordered = algorithm.ordered && why_not(algorithm, problem, false).empty();
  const auto finding = verify(schedules, {.ordered = ordered, .from_left = algorithm.from_left});
  return finding ? to_text(*finding) : std::string();
}

/// The finding for one topology, or any where the operation knows none.
std::string prove_along(Topology topology, const Algorithm& algorithm, Problem problem, bool in_place) {
  std::vector<Schedule> schedules;
  for (problem.rank = 0; problem.rank < problem.p; ++problem.rank) {
    problem.in_place = in_place && in_place_at(algorithm.operation, problem.rank == problem.root);
    if (among_neighbors(algorithm.operation)) problem.neighbors = sample_neighbors(topology, problem.p, problem.rank);
    schedules.push_back(build(algorithm, problem));
  }
  const std::string finding = fault(algorithm, problem, schedules);
  if (finding.empty()) return {};
  const std::string where = among_neighbors(algorithm.operation) ? std::string(" on ") + name(topology) : "";
  return describe(algorithm, problem, in_place) + where + ": " + finding;
}

std::string prove_placed(const Algorithm& algorithm, Problem problem, bool in_place) {
  for (const auto& [name, placement] : sample_placements(problem.p)) {
    problem.hierarchy = std::make_shared<const Hierarchy>(placement);
    if (!why_not(algorithm, problem, true).empty()) continue;
    if (const std::string finding = prove_on(algorithm, problem, in_place); !finding.empty())
      return finding + ", with " + name;
  }
  return {};
}

}  // namespace

std::string prove_on(const Algorithm& algorithm, const Problem& problem, bool in_place) {
  return prove_along(Topology::ring, algorithm, problem, in_place);
}

std::string prove(const Algorithm& algorithm, int p, int root, int radix, int segments, bool in_place) {
  const Problem problem{.operation = algorithm.operation, .p = p, .root = root, .radix = radix, .segments = segments};
  if (algorithm.hierarchical) return prove_placed(algorithm, problem, in_place);
  if (!among_neighbors(algorithm.operation)) return prove_on(algorithm, problem, in_place);
  for (const Topology topology : sample_topologies)
    if (std::string finding = prove_along(topology, algorithm, problem, in_place); !finding.empty()) return finding;
  return {};
}

}  // namespace omnes::inline algorithms
