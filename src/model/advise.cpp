// Looks at candidates as closely as it takes to tell which is the fastest.
#include "model/advise.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "schedule/hierarchy.hpp"

namespace omnes::model {

namespace {

// In the estimator's units of about 0.05 microseconds: all, of which a first look at each candidate takes this much.
constexpr int all_work = 6500, first_look = 100;
constexpr int closer = 4;         // times the work of the look before
constexpr double settled = 1.05;  // an estimate that grows by less with a closer look is taken to be known
// What the table would choose stays unless another takes so many times less: the model's own error, and the table may have
// been measured.
constexpr double margin = 1.15;
constexpr double near_best = 1.5;  // what seemed so many times slower than the best may have been overestimated

/// Ranks that share memory are on one unit of a level "node", which a placement leaves out where it is that of all.
Placement with_nodes(Placement placement, std::span<const std::int32_t> node) {
  PlacementLevel nodes{"node", {node.begin(), node.end()}};
  if (!placement.levels.empty()) {
    const std::string& widest = placement.levels.back().name;
    if (widest == nodes.name || !within_node(widest)) return placement;
  }
  nodes.unit.resize(placement.p);
  placement.levels.push_back(std::move(nodes));
  return placement;
}

std::string why_not(const Question& question) {
  const Operation operation = question.operation;
  if (question.p == 1) return "one rank has no choice";
  if (among_neighbors(operation)) return "the topology of the program decides";
  if (unequal(operation) && operation != Operation::allgatherv && operation != Operation::reduce_scatter)
    return "the sizes of the parts are not known to all ranks";
  if (!question.shared_memory && question.nodes < question.p) return "ranks of a node share no memory";
  return {};
}

std::string microseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1e-5 ? "%.2f" : seconds < 1e-4 ? "%.1f" : "%.0f", 1e6 * seconds);
  return text;
}

struct Candidate {
  double seconds = 0;
  int work = first_look;
  bool known = false;
};

}  // namespace

ByteRange size_class(std::size_t bytes) {
  constexpr int digits = 3;  // binary ones that are kept
  const int cut_off = std::max(static_cast<int>(std::bit_width(bytes)) - digits, 0);
  const std::size_t from = bytes >> cut_off << cut_off;
  return {from, from + (std::size_t{1} << cut_off) - 1};
}

Advisor::Advisor(std::shared_ptr<const MachineCosts> machine, Placement placement, std::span<const std::int32_t> node)
    : machine_(machine ? std::move(machine) : known_default()),
      placement_(with_nodes(std::move(placement), node)),
      estimator_(*machine_, placement_) {}

Advice Advisor::operator()(const Selector& selector, const Question& question) {
  if (std::string reason = why_not(question); !reason.empty()) return {{}, std::move(reason)};
  Question of_class = question;
  const ByteRange sizes = size_class(question.bytes);
  of_class.bytes = sizes.from;
  const auto [at, is_new] = known_.try_emplace({question.operation, question.commutative, of_class.bytes});
  if (is_new) {
    at->second = find(of_class, selector.candidates(of_class));
    at->second.sizes = sizes;
  }
  return at->second;
}

Advice Advisor::find(const Question& question, const std::vector<Choice>& choices) {
  const Problem problem{.operation = question.operation, .p = question.p, .hierarchy = question.hierarchy};
  std::vector<Candidate> candidates(choices.size());
  int left = all_work;
  const auto look = [&](std::size_t i) {
    Candidate& candidate = candidates[i];
    int work = candidate.work;
    const double before = candidate.seconds;
    candidate.seconds = estimator_(choices[i], problem, static_cast<double>(question.bytes), work);
    candidate.known = estimator_.complete() || (before > 0 && candidate.seconds < settled * before);
    left -= candidate.work - work;
    candidate.work *= closer;
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) look(i);
  const auto fastest = [&](bool known, const Candidate* but = nullptr) {
    Candidate* found = nullptr;
    for (Candidate& one : candidates)
      if (&one != but && one.known == known && (!found || one.seconds < found->seconds)) found = &one;
    return found;
  };
  while (left > 0) {
    const Candidate* const best = fastest(true);
    Candidate* const next = fastest(false);
    if (!next || next->seconds == never || (best && next->seconds > near_best * best->seconds)) break;
    look(static_cast<std::size_t>(next - candidates.data()));
  }
  const Candidate* best = fastest(true);
  if (!best) return {{}, "too many steps to tell which is the fastest"};
  const Candidate& by_table = candidates.front();
  if (by_table.known && by_table.seconds < margin * best->seconds) best = &by_table;
  const auto name = [&](const Candidate* one) {
    return to_string(choices[static_cast<std::size_t>(one - candidates.data())]);
  };
  Advice advice{choices[static_cast<std::size_t>(best - candidates.data())],
                microseconds(best->seconds) + " us expected"};
  if (const Candidate* const second = fastest(true, best))
    advice.why += ", of " + name(second) + ' ' + microseconds(second->seconds);
  return advice;
}

}  // namespace omnes::model
