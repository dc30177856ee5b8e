// The catalogue is filled by the Register objects of the algorithm files before main() or dlopen() returns.
#include "algorithms/registry.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>

namespace omnes {

namespace {

// A function-local static, so that it exists before the first Register, whatever the order of initialisation.
std::vector<const Algorithm*>& entries() {
  static std::vector<const Algorithm*> all;
  return all;
}

bool before(const Algorithm* a, const Algorithm* b) {
  if (a->operation != b->operation) return a->operation < b->operation;
  return std::strcmp(a->name, b->name) < 0;
}

void insert(const Algorithm& algorithm) {
  auto& all = entries();
  all.insert(std::upper_bound(all.begin(), all.end(), &algorithm, before), &algorithm);
}

}  // namespace

Register::Register(const Algorithm& algorithm) {
  insert(algorithm);
  if (!algorithm.unequal) return;
  static std::deque<Algorithm> twins;  // addresses stay
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (operation == algorithm.operation || regular(operation) != algorithm.operation) continue;
    twins.push_back(algorithm);
    twins.back().operation = operation;
    insert(twins.back());
  }
}

const std::vector<const Algorithm*>& catalogue() { return entries(); }

const Algorithm* find_algorithm(Operation operation, std::string_view wanted) {
  for (const Algorithm* algorithm : entries())
    if (algorithm->operation == operation && algorithm->name == wanted) return algorithm;
  return nullptr;
}

std::string why_not(const Algorithm& algorithm, const Problem& problem, bool commutative) {
  if (algorithm.power_of_two && (problem.p & (problem.p - 1)) != 0) return "needs a power-of-two number of ranks";
  if (algorithm.even && problem.p % 2 != 0 && problem.p > 1) return "needs an even number of ranks";
  if (reduces(algorithm.operation) && !algorithm.ordered && !commutative) return "needs a commutative operation";
  if (problem.radix != 0 && algorithm.default_radix == 0) return "takes no k";
  if (problem.radix != 0 && problem.radix < algorithm.min_radix)
    return "needs k >= " + std::to_string(algorithm.min_radix);
  if (problem.segments > 1 && !algorithm.segmented) return "is not segmented";
  return {};
}

Schedule build(const Algorithm& algorithm, Problem problem) {
  const std::string reason = why_not(algorithm, problem, true);
  if (!reason.empty()) throw std::invalid_argument(std::string(algorithm.name) + " " + reason);
  if (problem.radix == 0) problem.radix = algorithm.default_radix;
  Builder builder(problem);
  algorithm.build(builder);
  return builder.finish();
}

}  // namespace omnes
