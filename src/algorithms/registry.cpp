// The catalogue is filled by the Register objects of the algorithm files before main() or dlopen() returns.
#include "algorithms/registry.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <stdexcept>

#include "algorithms/levels.hpp"
#include "schedule/hierarchy.hpp"

namespace omnes::inline algorithms {

namespace {

// A function-local static, so that it exists before the first Register, whatever the order of initialisation. Like all that a
// collective needs it is never destroyed: a program's library may end MPI in its destructor, which runs after ours.
std::vector<const Algorithm*>& entries() {
  static auto& all = *new std::vector<const Algorithm*>;
  return all;
}

// Names from the literature, Open MPI, MPICH and Intel MPI. What LibNBC calls dissemination is a binomial reduce and
// bcast in Iallreduce, and Bruck's algorithm in Ialltoall. MPICH's Ibcast ring is a chain. Intel MPI's source is not
// public: its nreduce is taken to be oneCCL's, and its linear ssend to mean that the root sets the pace.
constexpr auto aliases = std::to_array<Alias>({
    {.name = "binomial", .algorithm = "knomial", .radix = 2},
    {.name = "blocked", .algorithm = "batched"},
    {.name = "dissemination", .algorithm = "knomial", .radix = 2, .only = Operation::allreduce},
    {.name = "dissemination", .algorithm = "bruck", .radix = 2, .only = Operation::alltoall},
    {.name = "flat", .algorithm = "linear"},
    {.name = "inplace", .algorithm = "exchange"},
    {.name = "linear_ssend", .algorithm = "linear_sync"},
    {.name = "naive", .algorithm = "linear"},
    {.name = "noncommutative", .algorithm = "butterfly"},
    {.name = "nreduce", .algorithm = "sliced", .only = Operation::allreduce},
    {.name = "pipeline", .algorithm = "chain", .only = Operation::bcast},
    {.name = "reduce_bcast", .algorithm = "knomial", .only = Operation::allreduce},
    {.name = "reduce_scatter_allgather", .algorithm = "rabenseifner", .only = Operation::allreduce},
    {.name = "reduce_scatter_gather", .algorithm = "rabenseifner", .only = Operation::reduce},
    {.name = "ring", .algorithm = "chain", .only = Operation::bcast},
    {.name = "scatter_recursive_doubling_allgather", .algorithm = "scatter_recursive_doubling"},
    {.name = "scatter_ring_allgather", .algorithm = "scatter_ring"},
    {.name = "scattered", .algorithm = "batched"},
});

bool before(const Algorithm* a, const Algorithm* b) {
  if (a->operation != b->operation) return a->operation < b->operation;
  return std::strcmp(a->name, b->name) < 0;
}

void insert(const Algorithm& algorithm) {
  auto& all = entries();
  all.insert(std::upper_bound(all.begin(), all.end(), &algorithm, before), &algorithm);
}

/// Fills in what the problem leaves to the algorithm.
void complete(const Algorithm& algorithm, Problem& problem) {
  if (algorithm.hierarchical && !problem.hierarchy)
    problem.hierarchy = std::make_shared<const Hierarchy>(Placement{.p = problem.p, .levels = {}});
  const std::string reason = why_not(algorithm, problem, true);
  if (!reason.empty()) throw std::invalid_argument(std::string(algorithm.name) + " " + reason);
  if (problem.radix == 0) problem.radix = default_radix(algorithm, problem.p);
}

}  // namespace

Register::Register(const Algorithm& described) : algorithm(described) {
  static auto& others = *new std::deque<Algorithm>;  // addresses stay
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i), equal = regular(operation);
    const bool serves = operation == described.operation || operation == described.also;
    if (!serves && !(described.unequal && (equal == described.operation || equal == described.also))) continue;
    Algorithm& entry = operation == described.operation ? algorithm : others.emplace_back(described);
    entry.operation = operation;
    entry.needs_all_counts &= unequal(operation);
    insert(entry);
  }
}

const std::vector<const Algorithm*>& catalogue() { return entries(); }

const Algorithm* find_algorithm(Operation operation, std::string_view wanted) {
  for (const Algorithm* algorithm : entries())
    if (algorithm->operation == operation && algorithm->name == wanted) return algorithm;
  return nullptr;
}

const Alias* find_alias(Operation operation, std::string_view wanted) {
  for (const Alias& alias : aliases)
    if (alias.name == wanted && (!alias.only || *alias.only == regular(operation)) &&
        !find_algorithm(operation, wanted) && find_algorithm(operation, alias.algorithm))
      return &alias;
  return nullptr;
}

std::vector<const Alias*> aliases_of(const Algorithm& algorithm) {
  std::vector<const Alias*> found;
  for (const Alias& alias : aliases)
    if (std::string_view(alias.algorithm) == algorithm.name && find_alias(algorithm.operation, alias.name) == &alias)
      found.push_back(&alias);
  return found;
}

int default_radix(const Algorithm& algorithm, int p) {
  std::int64_t radix = algorithm.default_radix;
  while (algorithm.root_radix && radix * radix < p) ++radix;
  return static_cast<int>(radix);
}

std::string why_not(const Algorithm& algorithm, const Problem& problem, bool commutative) {
  if (algorithm.power_of_two && (problem.p & (problem.p - 1)) != 0) return "needs a power-of-two number of ranks";
  if (algorithm.even && problem.p % 2 != 0 && problem.p > 1) return "needs an even number of ranks";
  if (reduces(algorithm.operation) && !algorithm.ordered && !commutative) return "needs a predefined operation";
  if (problem.radix != 0 && algorithm.default_radix == 0) return "takes no k";
  if (problem.radix != 0 && problem.radix < algorithm.min_radix)
    return "needs k >= " + std::to_string(algorithm.min_radix);
  if (problem.segments > 1 && !algorithm.segmented) return "is not segmented";
  return algorithm.hierarchical ? why_not_composed(algorithm, problem, commutative) : std::string();
}

Schedule build(const Algorithm& algorithm, Problem problem, Detail detail) {
  complete(algorithm, problem);
  Builder builder(problem, detail);
  algorithm.build(builder);
  return builder.finish();
}

int count_sent(const Algorithm& algorithm, Problem problem, Tally& tally) {
  complete(algorithm, problem);
  Builder builder(problem, tally);
  algorithm.build(builder);
  return builder.pieces();
}

}  // namespace omnes::inline algorithms
