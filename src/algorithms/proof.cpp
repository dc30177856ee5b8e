// One case of one algorithm, for all ranks.
#include "algorithms/proof.hpp"

#include "schedule/verify.hpp"

namespace omnes {

namespace {

bool in_place_at(Operation operation, bool at_root) {
  switch (operation) {
    case Operation::barrier:
    case Operation::bcast: return false;
    case Operation::reduce:
    case Operation::gather:
    case Operation::scatter: return at_root;
    case Operation::allreduce:
    case Operation::allgather:
    case Operation::alltoall: return true;
  }
  return false;
}

std::string describe(const Algorithm& algorithm, const Problem& problem, bool in_place) {
  std::string text = std::string(name(algorithm.operation)) + "/" + algorithm.name + " p=" + std::to_string(problem.p);
  if (rooted(algorithm.operation)) text += " root=" + std::to_string(problem.root);
  if (problem.radix != 0) text += " k=" + std::to_string(problem.radix);
  if (problem.segments != 1) text += " segments=" + std::to_string(problem.segments);
  return in_place ? text + " in place" : text;
}

}  // namespace

std::string prove(const Algorithm& algorithm, int p, int root, int radix, int segments, bool in_place) {
  Problem problem{.operation = algorithm.operation, .p = p, .root = root, .radix = radix, .segments = segments};
  std::vector<Schedule> schedules;
  for (problem.rank = 0; problem.rank < p; ++problem.rank) {
    problem.in_place = in_place && in_place_at(algorithm.operation, problem.rank == root);
    schedules.push_back(build(algorithm, problem));
  }
  const auto finding = verify(schedules, {.ordered = algorithm.ordered, .from_left = algorithm.from_left});
  return finding ? describe(algorithm, problem, in_place) + ": " + to_text(*finding) : std::string();
}

}  // namespace omnes
