// The steps in turn, each timed.
#include "mapping/choose.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace omnes::mapping {

namespace {

// Up to so many ranks both ways are tried and compared.
constexpr int compare_both = 1024;
// Ranks whose schedules stand for all where the structure alone is asked for, as when a communicator is made, and in large groups.
constexpr int few_rows = 12, many_rows = 256;

class Watch {
 public:
  /// Seconds since the last time.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> passed = now - since_;
    since_ = now;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

Traffic whole_traffic(const Question& question) {
  return question.recorded ? *question.recorded : traffic_of(*question.algorithm, question.problem);
}

Pattern seen_pattern(const Question& question, const std::optional<Traffic>& traffic, int& seen) {
  const int p = question.placement->p;
  if (traffic) {
    seen = p;
    return pattern_of(*traffic);
  }
  const std::vector<std::int32_t> sample = sample_of(p, p <= compare_both ? few_rows : many_rows);
  seen = static_cast<int>(sample.size());
  return pattern_of(p, sample, [&](int rank) { return row_of(*question.algorithm, question.problem, rank); });
}

Fixed fixed_of(const Question& question) {
  return {question.algorithm && rooted(question.algorithm->operation) ? question.problem.root : -1};
}

std::int64_t copied(const Schedule& schedule) {
  std::int64_t blocks = 0;
  for (const Op& op : schedule.ops)
    if (op.kind == OpKind::copy) blocks += op.dst.count;
  return blocks;
}

}  // namespace

Answer choose(const Question& question) {
  const Placement& placement = *question.placement;
  Answer answer;
  Watch watch;
  if (question.recorded) answer.traffic = *question.recorded;
  if (question.algorithm) answer.pieces = pieces_of(*question.algorithm, question.problem);
  if (!answer.traffic && placement.p <= compare_both && question.method != Method::structure)
    answer.traffic = whole_traffic(question);
  Pattern pattern;
  if (question.method != Method::general) pattern = seen_pattern(question, answer.traffic, answer.rows_seen);
  answer.symmetry = pattern.symmetry;
  answer.traffic_s = watch.lap();

  const auto cost = [&](const Mapping& mapping) {
    return answer.traffic ? cost_of(*answer.traffic, placement, mapping, question.bandwidths)
                          : cost_of(pattern, placement, mapping, question.bandwidths);
  };
  const auto offer = [&](Mapping mapping, std::string_view method) {
    if (mapping.real_of.empty()) return;
    answer.mapping_s += watch.lap();
    Cost found = cost(mapping);
    if (answer.mapping.real_of.empty() || found.time < answer.after.time) {
      answer.mapping = std::move(mapping);
      answer.after = std::move(found);
      answer.method = method;
    }
    answer.cost_s += watch.lap();
  };
  if (pattern.symmetry != Symmetry::none) offer(map_by_structure(pattern, placement), "structure");
  const bool found = !answer.mapping.real_of.empty();
  if (question.method == Method::structure && !found)
    throw std::invalid_argument(pattern.symmetry == Symmetry::none
                                    ? "this traffic has no structure: ranks differ in what they send to whom"
                                    : "no groups of these sizes can be found from the structure");
  if (question.method == Method::general ||
      (question.method == Method::automatic && (!found || placement.p <= compare_both))) {
    if (!answer.traffic) {
      answer.traffic = whole_traffic(question);
      answer.rows_seen = placement.p;
    }
    const Graph graph = graph_of(*answer.traffic);
    answer.traffic_s += watch.lap();
    offer(map_by_graph(graph, placement, fixed_of(question), question.partitioner), "general");
  }
  answer.before = cost(identity(placement.p));
  if (question.method == Method::automatic && answer.after.time >= answer.before.time) {
    answer.mapping = identity(placement.p);
    answer.after = answer.before;
    answer.method = "none";
  }
  answer.cost_s += watch.lap();
  return answer;
}

FixupCost fixup_cost(const Question& question, const Mapping& mapping, Fixup fixup) {
  FixupCost cost;
  const Traffic traffic = traffic_of(question.problem.p, [&](int rank) {
    Problem problem = question.problem;
    problem.rank = rank;
    const Schedule schedule = build_relabelled(*question.algorithm, problem, mapping, fixup);
    cost.copied +=
        copied(schedule) - copied(build(*question.algorithm, virtual_problem(problem, mapping, Fixup::reorder)));
    return row_of(schedule);
  });
  cost.copied = std::max<std::int64_t>(cost.copied, 0);
  cost.time = cost_of(traffic, *question.placement, identity(question.problem.p), question.bandwidths).time +
              static_cast<double>(cost.copied) / question.bandwidths.front();
  return cost;
}

}  // namespace omnes::mapping
