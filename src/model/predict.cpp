// Which ranks to simulate, and what to make of them.
#include "model/predict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "schedule/hierarchy.hpp"

namespace omnes::model {

namespace {

/// Ops and blocks of all ranks that may be built: 3 millions take a third of a second, and large groups may take longer.
double max_work(int p) { return 3e6 + 128.0 * p; }
/// In one go for each of the runs that are continued.
constexpr double max_work_continued = 6e6;

/// What building and simulating takes for all ranks, judged by some of them: ops, and blocks that they touch.
double work(int p, const ScheduleOf& schedule, double enough) {
  constexpr int samples = 32, first_look = 4;
  double sum = 0;
  for (int i = 0; i < samples; ++i) {
    // Multiples of the golden ratio, modulo 1: spread evenly, whatever the algorithm's pattern.
    const double place = std::fmod((i + 1) * 0.6180339887498949, 1.0);
    const Schedule one = schedule(static_cast<int>(place * p));
    for (const Op& op : one.ops) sum += 4 + op.a.count + op.b.count + op.dst.count + op.peer_count;
    if (i + 1 == first_look && sum / first_look * p > 4 * enough) return sum / first_look * p;
  }
  return sum / samples * p;
}

ScheduleOf schedules(const Algorithm& algorithm, Problem problem) {
  return [&algorithm, problem](int rank) mutable {
    problem.rank = rank;
    return build(algorithm, problem);
  };
}

/// The solution of three equations by elimination.
std::array<double, 3> solve(std::array<std::array<double, 4>, 3> rows) {
  for (std::size_t i = 0; i < 3; ++i) {
    std::size_t best = i;
    for (std::size_t j = i; j < 3; ++j)
      if (std::abs(rows[j][i]) > std::abs(rows[best][i])) best = j;
    std::swap(rows[i], rows[best]);
    for (std::size_t j = 0; j < 3; ++j) {
      if (j == i) continue;
      const double factor = rows[j][i] / rows[i][i];
      for (std::size_t k = i; k < 4; ++k) rows[j][k] -= factor * rows[i][k];
    }
  }
  return {rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

/// The value at p of a + b log2(p) + c p through three points; with `c` left out through the first two, the nearest, since a small curvature
/// would be taken for a growth with p.
double continue_to(double p, const std::array<double, 3>& at, const std::array<double, 3>& values, bool with_p) {
  if (!with_p) return values[0] + (values[0] - values[1]) * std::log2(p / at[0]) / std::log2(at[0] / at[1]);
  std::array<std::array<double, 4>, 3> rows;
  for (std::size_t i = 0; i < 3; ++i) rows[i] = {1, std::log2(at[i]), at[i], values[i]};
  const auto [a, b, c] = solve(rows);
  return a + b * std::log2(p) + c * p;
}

/// That many ranks, of the first units of the widest level; in the order of their numbers.
Placement first_ranks(const Placement& placement, int p) {
  const Hierarchy hierarchy(placement);
  std::vector<int> ranks(p);
  for (int position = 0; position < p; ++position) ranks[position] = hierarchy.rank_at(position);
  std::ranges::sort(ranks);
  Placement result{p, {}};
  for (const PlacementLevel& level : placement.levels) {
    PlacementLevel& mine = result.levels.emplace_back(level.name);
    for (const int rank : ranks) mine.unit.push_back(level.unit[rank]);
  }
  return result;
}

/// The problem of that many ranks, which lie where they did.
Problem among_first(const Problem& problem, int p, const Placement& placement) {
  Problem result = problem;
  result.p = p;
  result.root = std::min(problem.root, p - 1);
  if (problem.hierarchy) result.hierarchy = std::make_shared<const Hierarchy>(first_ranks(placement, p));
  return result;
}

/// A half of so many ranks: of hierarchical algorithms' whole units of the widest level, as long as there are two.
int half_of(int p, const Problem& problem) {
  int unit = 1;
  if (problem.hierarchy) {
    const std::vector<int> starts = problem.hierarchy->starts_of_widest();
    unit = starts[1] - starts[0];
  }
  return p / 2 >= unit ? p / 2 / unit * unit : p / 2;
}

}  // namespace

std::string_view name(Method method) {
  constexpr std::array<std::string_view, 3> names = {"all ranks", "classes of equal ranks",
                                                     "continued from fewer ranks"};
  return names[static_cast<std::size_t>(method)];
}

Placement blocks_of(int p, int ranks_per_node) {
  Placement placement{p, {{"node", {}}}};
  for (int rank = 0; rank < p; ++rank) placement.levels[0].unit.push_back(rank / ranks_per_node);
  return placement;
}

Placement dealt_to(int p, int ranks_per_node) {
  const int nodes = (p + ranks_per_node - 1) / ranks_per_node;
  Placement placement{p, {{"node", {}}}};
  for (int rank = 0; rank < p; ++rank) placement.levels[0].unit.push_back(rank % nodes);
  return placement;
}

Predictor::Predictor(const Setting& setting, const Choice& choice, int p, int root)
    : setting_(setting),
      choice_(choice),
      problem_{.operation = choice.algorithm->operation,
               .p = p,
               .root = root,
               .radix = choice.radix,
               .composition = choice.levels},
      simulator_(*setting.machine, setting.reduction) {
  if (among_neighbors(problem_.operation))
    throw std::invalid_argument("operations among neighbors depend on the topology of the program");
  if (setting.placement->p != p) throw std::invalid_argument("the placement is of another number of ranks");
  if (choice.algorithm->hierarchical) problem_.hierarchy = std::make_shared<const Hierarchy>(*setting.placement);
  natural_pieces_ = build(*choice.algorithm, problem_).pieces;
}

void Predictor::prepare(int segments) {
  if (segments == prepared_segments_) return;
  prepared_segments_ = segments;
  problem_.segments = segments;
  const ScheduleOf schedule = schedules(*choice_.algorithm, problem_);
  const int p = problem_.p;
  Symmetry symmetry{p, p, false};
  method_ = Method::all_ranks;
  constexpr double little = 3e5;  // not worth looking for symmetry
  const double all = p > 64 ? work(p, schedule, max_work(p)) : 0;
  if (all > little) {
    symmetry = find_symmetry(p, *setting_.placement, schedule);
    const double simulated = all / p * symmetry.classes;
    method_ = simulated > max_work(p) ? Method::continued : symmetry.classes < p ? Method::classes : Method::all_ranks;
  }
  if (method_ != Method::continued) tape_ = record(*setting_.machine, *setting_.placement, symmetry, schedule);
}

Prediction Predictor::operator()(std::size_t part_bytes) {
  prepare(segments_for(choice_, problem_.p, part_bytes / static_cast<std::size_t>(natural_pieces_)));
  if (method_ == Method::continued) return continued(part_bytes);
  const Outcome outcome = simulator_.run(tape_, static_cast<double>(part_bytes));
  return {outcome.seconds, outcome.path, method_, tape_.symmetry.classes, simulator_.finished()};
}

Prediction Predictor::continued(std::size_t part_bytes) {
  const int p = problem_.p;
  // Where a rank's ops grow with p, each moves a p-th of the message: equal ops are compared.
  const auto ops = [&](int ranks) {
    Problem problem = among_first(problem_, ranks, *setting_.placement);
    problem.root = 0;
    problem.rank = ranks / 2;
    return build(*choice_.algorithm, problem).ops.size();
  };
  const int half = half_of(p, problem_);
  const bool many_ops = ops(half) > 3 * ops(half_of(half, problem_)) / 2;
  const bool scaled = natural_pieces_ >= p / 2 && many_ops;
  const bool with_p = many_ops || data_blocks(problem_, 1) > 1;  // a part for each rank
  std::array<double, 3> at{}, seconds{};
  std::array<Split, 3> paths;
  std::size_t found = 0;
  int ranks = p;
  Prediction result;
  while (found < at.size() && ranks >= 16) {
    ranks = half_of(ranks, problem_);
    const Problem problem = among_first(problem_, ranks, *setting_.placement);
    const ScheduleOf schedule = schedules(*choice_.algorithm, problem);
    if (work(ranks, schedule, max_work_continued) > max_work_continued) continue;
    const Placement placement = first_ranks(*setting_.placement, ranks);
    const Tape tape = record(*setting_.machine, placement, {ranks, ranks, false}, schedule);
    const double bytes = static_cast<double>(part_bytes) * (scaled ? static_cast<double>(ranks) / p : 1);
    const Outcome outcome = simulator_.run(tape, bytes);
    at[found] = ranks;
    seconds[found] = outcome.seconds;
    paths[found++] = outcome.path;
    if (result.simulated == 0) result.simulated = ranks;
  }
  if (found < at.size()) throw std::invalid_argument("too many ranks to simulate");
  result.method = Method::continued;
  for (double Split::* part : {&Split::latency, &Split::bandwidth, &Split::overhead, &Split::reduction, &Split::copy}) {
    std::array<double, 3> values{};
    for (std::size_t i = 0; i < at.size(); ++i) values[i] = paths[i].*part;
    result.path.*part = std::max(0.0, continue_to(p, at, values, with_p));
  }
  result.seconds = result.path.total();
  return result;
}

double predicted_seconds(const Algorithm& algorithm, const Problem& problem, const MachineCosts& machine,
                         const Placement& placement, std::size_t part_bytes) {
  Predictor predictor({&machine, &placement}, {&algorithm, problem.radix, 0}, problem.p, problem.root);
  return predictor(part_bytes).seconds;
}

}  // namespace omnes::model
