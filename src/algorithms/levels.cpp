// Looks algorithms up by the names of levels.
#include "algorithms/levels.hpp"

#include <algorithm>

namespace omnes::inline algorithms {

namespace {

using enum Operation;

/// What runs at levels that the composition does not name: inside a node, where one copy serves all readers, flat;
/// between nodes in few rounds. All of them keep the order of operands and take any number of ranks.
const char* default_algorithm(Operation operation, bool inside_node) {
  switch (operation) {
    case barrier: return "dissemination";
    case bcast: return inside_node ? "linear" : "knomial";
    case reduce: return "knomial";
    case gather:
    case scatter: return inside_node ? "linear" : "knomial";
    case allreduce:
    case exscan: return "recursive_doubling";
    case allgather:
    case allgatherv: return "bruck";
    case reduce_scatter_block:
    case reduce_scatter: return "butterfly";
    default: return "linear";
  }
}

/// With unequal parts; itself where there is no such.
Operation twin(Operation operation) {
  switch (operation) {
    case gather: return gatherv;
    case scatter: return scatterv;
    case allgather: return allgatherv;
    case alltoall: return alltoallv;
    case reduce_scatter_block: return reduce_scatter;
    default: return operation;
  }
}

const LevelAlgorithm* named_for(const Problem& problem, std::size_t level) {
  const auto found = std::ranges::find(problem.composition, problem.hierarchy->name(level), &LevelAlgorithm::level);
  return found == problem.composition.end() ? nullptr : &*found;
}

/// The algorithm of that name or alias; null where the operation has none.
Picked found(Operation operation, const LevelAlgorithm& wanted) {
  const Alias* alias = find_alias(operation, wanted.algorithm);
  const Algorithm* algorithm = find_algorithm(operation, alias ? alias->algorithm : wanted.algorithm.c_str());
  if (!algorithm || algorithm->hierarchical) return {};
  const int radix = wanted.radix != 0 || !alias ? wanted.radix : alias->radix;
  return {algorithm, algorithm->default_radix > 0 ? radix : 0};
}

}  // namespace

Picked picked(const Problem& problem, std::size_t level, Operation operation) {
  const LevelAlgorithm* wanted = named_for(problem, level);
  if (wanted)
    if (const Picked one = found(operation, *wanted); one.algorithm) return one;
  return {find_algorithm(operation, default_algorithm(operation, within_node(problem.hierarchy->name(level))))};
}

Operation at_level(const Problem& problem, std::size_t level, Operation operation) {
  const bool of_a_message = problem.operation == bcast || problem.operation == reduce || problem.operation == allreduce;
  return unequal(problem.operation) || of_a_message || problem.hierarchy->uneven(level) ? twin(operation) : operation;
}

Schedule schedule_in(const Problem& problem, const Group& group, Operation operation, int root, bool in_place) {
  const Picked one = picked(problem, group.level, operation);
  return build(*one.algorithm, {.operation = operation,
                                .p = group.size(),
                                .rank = group.self,
                                .root = rooted(operation) ? root : 0,
                                .in_place = in_place,
                                .radix = one.radix});
}

std::vector<Operation> phases_at(const Algorithm& algorithm, bool last) {
  const Phases& phases = *algorithm.hierarchical;
  if (last && phases.top) return {*phases.top};
  std::vector<Operation> all;
  for (const auto& one : {phases.up, phases.down})
    if (one) all.push_back(*one);
  return all;
}

std::string levels_passed_over(const Composition& composition, const Hierarchy* hierarchy) {
  std::string names;
  for (const LevelAlgorithm& one : composition) {
    bool there = !hierarchy && one.level == "top";
    for (std::size_t level = 0; hierarchy && level < hierarchy->levels(); ++level)
      there |= hierarchy->name(level) == one.level;
    if (!there) names += (names.empty() ? "" : ", ") + one.level;
  }
  return names;
}

std::string why_not_composed(const Algorithm& algorithm, const Problem& outer, bool commutative) {
  Problem problem = outer;
  if (!problem.hierarchy)
    problem.hierarchy = std::make_shared<const Hierarchy>(Placement{.p = problem.p, .levels = {}});
  const Hierarchy& hierarchy = *problem.hierarchy;
  if (hierarchy.p() != problem.p)
    return "knows where " + std::to_string(hierarchy.p()) + " ranks lie, not " + std::to_string(problem.p);
  if (!hierarchy.in_rank_order() && (algorithm.consecutive || !commutative))
    return std::string("needs the ranks of each unit to be consecutive") +
           (algorithm.consecutive ? "" : " where the operation is the program's");
  if (algorithm.uniform && !hierarchy.uniform()) return "needs as many ranks on each unit of a level";
  for (std::size_t level = 0; level < hierarchy.levels(); ++level) {
    const LevelAlgorithm* wanted = named_for(problem, level);
    bool serves = false;
    std::string asked;
    for (const Operation phase : phases_at(algorithm, level + 1 == hierarchy.levels())) {
      const Operation operation = at_level(problem, level, phase);
      serves |= wanted && found(operation, *wanted).algorithm;
      asked += (asked.empty() ? "" : " or ") + std::string(name(operation));
      const Picked one = picked(problem, level, operation);
      for (const int p : hierarchy.sizes(level)) {
        const std::string reason =
            why_not(*one.algorithm, {.operation = operation, .p = p, .radix = one.radix}, commutative);
        if (!reason.empty())
          return "has at level " + hierarchy.name(level) + " " + std::string(name(operation)) + "/" +
                 one.algorithm->name + ", which " + reason;
      }
    }
    if (wanted && !serves)
      return "composes at level " + hierarchy.name(level) + " " + asked + ", which no " + wanted->algorithm + " does";
  }
  return {};
}

}  // namespace omnes::inline algorithms
