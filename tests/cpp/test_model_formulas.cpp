// The eleven closed formulas against values worked out by hand.
#include <gtest/gtest.h>

#include "model/hockney.hpp"

namespace omnes::model {
namespace {

using enum Operation;

double us(Operation operation, const char* algorithm, const Hockney& machine, int p, double bytes) {
  const Formula* formula = find_formula(operation, algorithm);
  return formula == nullptr ? -1 : 1e6 * seconds(*formula, machine, p, bytes);
}

TEST(Formulas, BroadcastOfThePaper) {
  const Hockney paper{2.37e-6, 1 / 3183e6, 0};
  EXPECT_NEAR(us(bcast, "knomial", paper, 8192, 128), 31.3, 0.05);  // 13 (2.37 + 128 / 3183)
}

TEST(Formulas, AllElevenByHand) {
  // 1 us, 1 ns/B, 0.5 ns/B; parts of 1000 B. In microseconds: 8 ranks have 3 rounds and 7/8; 6 ranks 3 rounds, lb 6 = 2.58496, and 5/6.
  const Hockney machine{1e-6, 1e-9, 0.5e-9};
  const struct {
    Operation operation;
    const char* algorithm;
    double of_8, of_6;
  } cases[] = {
      {bcast, "knomial", 3 * (1 + 1), 3 * (1 + 1)},
      {reduce, "knomial", 3 * (1 + 1 + 0.5), 3 * (1 + 1 + 0.5)},
      {scatter, "knomial", 3 + 7, 3 + 5},  // 7/8 of 8000 B
      {gather, "knomial", 3 + 7, 3 + 5},
      {allgather, "ring", 7 + 7, 5 + 5},
      {allgather, "recursive_doubling", 3 + 7, 2.58496 + 5},
      {allgather, "bruck", 3 + 7, 3 + 5},
      {allreduce, "recursive_doubling", 3 * 2.5, 2.58496 * 2.5},
      {allreduce, "rabenseifner", 6 + 2 * 0.875 + 0.4375, 2 * 2.58496 + 2 * 5 / 6.0 + 5 / 12.0},
      {alltoall, "bruck", 3 + 4 * 3, 3 + 3 * 2.58496 + 2},  // 6 ranks: two beyond 4
      {alltoall, "pairwise", 7 + 8, 5 + 6},
  };
  for (const auto& [operation, algorithm, of_8, of_6] : cases) {
    EXPECT_NEAR(us(operation, algorithm, machine, 8, 1000), of_8, 1e-4) << name(operation) << '/' << algorithm;
    EXPECT_NEAR(us(operation, algorithm, machine, 6, 1000), of_6, 1e-4) << name(operation) << '/' << algorithm;
    EXPECT_EQ(us(operation, algorithm, machine, 1, 1000), 0);
  }
  EXPECT_EQ(formulas().size(), std::size(cases));
}

TEST(Formulas, OthersHaveNone) { EXPECT_EQ(find_formula(bcast, "chain"), nullptr); }

}  // namespace
}  // namespace omnes::model
