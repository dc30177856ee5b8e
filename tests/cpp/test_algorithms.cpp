// Every algorithm of the catalogue, proved: every p up to 17 and some beyond, roots, radices, segments, in place and not.
#include <gtest/gtest.h>

#include <set>

#include "algorithms/between.hpp"
#include "algorithms/proof.hpp"

namespace omnes {
namespace {

/// Proves all cases of one p; `roots` are taken modulo p.
void prove_all(const Algorithm& algorithm, int p, const std::set<int>& roots) {
  if (!why_not(algorithm, {.operation = algorithm.operation, .p = p}, true).empty()) return;
  std::vector<int> radices = {0};
  if (algorithm.default_radix > 0) radices = algorithm.hierarchical ? std::vector{0, 3} : std::vector{0, 3, 4, 7};
  const std::vector<int> segments = algorithm.segmented ? std::vector{1, 2, 5} : std::vector{1};
  for (const int root : rooted(algorithm.operation) ? roots : std::set{0})
    for (const int radix : radices)
      for (const int s : segments)
        for (const bool in_place : has_in_place(algorithm.operation) ? std::vector{false, true} : std::vector{false})
          EXPECT_EQ(prove(algorithm, p, root, radix, s, in_place), "");
}

class Algorithms : public testing::TestWithParam<const Algorithm*> {};

TEST_P(Algorithms, ProvedForSmallGroupsAndEveryRoot) {
  std::set<int> roots;
  for (int p = 1; p <= 17; ++p) {
    roots.insert(p - 1);
    prove_all(*GetParam(), p, roots);
  }
}

TEST_P(Algorithms, ProvedForLargerGroups) {
  for (const int p : {31, 32, 33}) prove_all(*GetParam(), p, {0, 1, p / 2, p - 1});
}

/// Of all sizes of the two groups of an intercommunicator.
TEST(BetweenGroups, AreProved) {
  for (const Operation operation : {Operation::bcast, Operation::reduce, Operation::allreduce})
    for (const Algorithm* algorithm : between_groups(operation))
      for (int p = 2; p <= 11; ++p)
        for (int first = 1; first < p; ++first)
          for (int root = 0; root < (rooted(operation) ? p : 1); ++root)
            for (const int radix : algorithm->default_radix > 0 ? std::vector{2, 3} : std::vector{0})
              for (const int segments : {1, 3}) {
                const Problem problem{.operation = operation,
                                      .p = p,
                                      .root = root,
                                      .radix = radix,
                                      .segments = segments,
                                      .first_group = first};
                EXPECT_EQ(prove_on(*algorithm, problem, false), "");
              }
}

std::string test_name(const testing::TestParamInfo<const Algorithm*>& info) {
  return std::string(name(info.param->operation)) + "_" + info.param->name;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, Algorithms, testing::ValuesIn(catalogue()), test_name);

struct Count {
  Operation operation;
  std::set<std::string> names;
};

TEST(Catalogue, HoldsWhatIsPromised) {
  const std::vector<Count> promised = {
      {Operation::barrier,
       {"hierarchical", "linear", "dissemination", "recursive_doubling", "all_to_all", "knomial", "ring"}},
      {Operation::bcast,
       {"hierarchical", "linear", "knomial", "chain", "binary", "kary", "recursive_doubling", "split_binary", "bine",
        "circulant", "double_tree", "scatter_recursive_doubling", "scatter_ring", "scatter_bine", "smp"}},
      {Operation::reduce,
       {"hierarchical", "linear", "knomial", "binary", "chain", "rabenseifner", "sliced", "double_tree", "circulant",
        "circulant_pipelined", "pipeline", "bine", "smp"}},
      {Operation::allreduce,
       {"hierarchical", "linear", "knomial", "recursive_doubling", "ring", "rabenseifner", "all_to_all", "sliced",
        "double_tree", "swing", "circulant", "pat", "bine", "dual_root", "recursive_multiplying", "smp"}},
      {Operation::gather, {"hierarchical", "linear", "linear_sync", "knomial", "bine"}},
      {Operation::scatter, {"hierarchical", "linear", "knomial", "bine"}},
      {Operation::allgather,
       {"hierarchical", "linear", "ring", "recursive_doubling", "bruck", "circulant", "gather_bcast", "kring",
        "neighbor_exchange", "recursive_multiplying", "sparbit", "bine", "swing", "pat"}},
      {Operation::alltoall, {"hierarchical", "linear", "pairwise", "bruck", "batched", "exchange", "bine"}},
      {Operation::gatherv, {"linear", "linear_sync"}},
      {Operation::scatterv, {"linear"}},
      {Operation::allgatherv,
       {"hierarchical", "linear", "ring", "recursive_doubling", "bruck", "circulant", "gather_bcast", "kring",
        "neighbor_exchange", "recursive_multiplying", "sparbit", "bine", "swing", "pat"}},
      {Operation::alltoallv, {"hierarchical", "linear", "pairwise", "batched", "exchange", "tuna"}},
      {Operation::alltoallw, {"hierarchical", "linear", "pairwise", "batched", "exchange", "tuna"}},
      {Operation::reduce_scatter_block,
       {"hierarchical", "linear", "pairwise", "ring", "recursive_halving", "recursive_doubling", "butterfly",
        "circulant", "bine", "swing", "pat", "reduce_then_scatter"}},
      {Operation::reduce_scatter,
       {"hierarchical", "linear", "pairwise", "ring", "recursive_halving", "recursive_doubling", "butterfly",
        "circulant", "bine", "swing", "pat", "reduce_then_scatter"}},
      {Operation::scan, {"hierarchical", "linear", "recursive_doubling", "binomial", "smp"}},
      {Operation::exscan, {"hierarchical", "linear", "recursive_doubling", "doubling_123", "binomial", "smp"}},
      {Operation::neighbor_allgather, {"linear"}},
      {Operation::neighbor_allgatherv, {"linear"}},
      {Operation::neighbor_alltoall, {"linear"}},
      {Operation::neighbor_alltoallv, {"linear"}},
      {Operation::neighbor_alltoallw, {"linear"}},
  };
  for (const auto& [operation, names] : promised) {
    std::set<std::string> found;
    for (const Algorithm* algorithm : catalogue())
      if (algorithm->operation == operation) found.insert(algorithm->name);
    for (const std::string& promised_name : names)
      EXPECT_TRUE(found.contains(promised_name)) << name(operation) << '/' << promised_name;
  }
}

TEST(Catalogue, ClaimsAreProved) {
  Algorithm claiming = *find_algorithm(Operation::reduce, "knomial");
  claiming.from_left = true;
  EXPECT_EQ(prove(claiming, 4),
            "reduce/knomial p=4 root=0: rank 0, recv[0]: ends with ((0 . 1) . (2 . 3)): not combined from the left");
  claiming = *find_algorithm(Operation::allreduce, "ring");
  claiming.ordered = true;
  EXPECT_TRUE(prove(claiming, 4).ends_with("the operands are not in rank order")) << prove(claiming, 4);
  claiming = *find_algorithm(Operation::alltoallv, "tuna");
  claiming.needs_all_counts = false;
  EXPECT_EQ(prove(claiming, 4), "alltoallv/tuna p=4: needs all counts, but does not say so");
}

TEST(Catalogue, TakesTheRootOfTheRanksForARadix) {
  const Algorithm& tuna = *find_algorithm(Operation::alltoallv, "tuna");
  const std::pair<int, int> radices[] = {{1, 2}, {4, 2}, {5, 3}, {9, 3}, {10, 4}, {1000, 32}};
  for (const auto& [p, radix] : radices) EXPECT_EQ(default_radix(tuna, p), radix) << p;
  EXPECT_EQ(default_radix(*find_algorithm(Operation::alltoall, "bruck"), 1000), 2);
}

TEST(Catalogue, SaysWhyNot) {
  const Problem odd{.operation = Operation::allgather, .p = 6};
  EXPECT_EQ(why_not(*find_algorithm(Operation::allgather, "recursive_doubling"), odd, true),
            "needs a power-of-two number of ranks");
  const Problem sum{.operation = Operation::allreduce, .p = 6};
  EXPECT_EQ(why_not(*find_algorithm(Operation::allreduce, "ring"), sum, false), "needs a predefined operation");
  EXPECT_EQ(why_not(*find_algorithm(Operation::allreduce, "ring"), sum, true), "");
}

}  // namespace
}  // namespace omnes
