// Choices by the model: estimates against the simulation, and what all ranks must come to alike.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/advise.hpp"
#include "model/predict.hpp"
#include "schedule/hierarchy.hpp"

namespace omnes::model {
namespace {

using enum Operation;

constexpr int any_work = 1 << 30;

struct Ranks {
  Ranks(int p, int per_node) : placement(blocks_of(p, per_node)) {
    question.p = p;
    question.lie_on(placement.levels.front().unit, true);
    question.hierarchy = std::make_shared<const Hierarchy>(placement);
  }
  Question asked(Operation operation, std::size_t bytes) const {
    Question one = question;
    one.operation = operation;
    one.bytes = bytes;
    return one;
  }
  Advisor advisor() const { return {nullptr, placement, placement.levels.front().unit}; }
  Placement placement;
  Question question;
};

struct Estimate {
  double seconds;
  bool complete;
};

Estimate estimate(const Choice& choice, const Ranks& ranks, double bytes, int work = any_work) {
  const auto machine = known_default();
  Estimator estimator(*machine, ranks.placement);
  const Problem problem{
      .operation = choice.algorithm->operation, .p = ranks.question.p, .hierarchy = ranks.question.hierarchy};
  const double seconds = estimator(choice, problem, bytes, work);
  return {seconds, estimator.complete()};
}

double simulated(const Choice& choice, const Ranks& ranks, std::size_t bytes) {
  const auto machine = known_default();
  return Predictor({machine.get(), &ranks.placement}, choice, ranks.question.p)(bytes).seconds;
}

// Where all ranks are looked at, only what may be done in another order than it is listed makes a difference.
TEST(Estimate, OfAllRanksIsCloseToTheSimulation) {
  const struct {
    int p, per_node;
    double typical, worst;  // ratios, as found
  } cases[] = {{2, 2, 1.001, 1.35}, {8, 8, 1.01, 1.7}, {12, 1, 1.1, 2.1}};
  for (const auto& [p, per_node, typical, worst] : cases) {
    const Ranks ranks(p, per_node);
    std::vector<double> ratios;
    for (const Algorithm* algorithm : catalogue()) {
      const Choice choice{.algorithm = algorithm};
      const Question question = ranks.asked(algorithm->operation, 0);
      if (unequal(algorithm->operation) || among_neighbors(algorithm->operation) || algorithm->hierarchical) continue;
      if (!why_not(choice, question, false).empty()) continue;
      for (const std::size_t bytes : {8, 2048, 32768}) {
        const auto [seconds, complete] = estimate(choice, ranks, static_cast<double>(bytes));
        const double expected = simulated(choice, ranks, bytes);
        EXPECT_TRUE(complete);
        ratios.push_back(std::max(seconds / expected, expected / seconds));
        EXPECT_LT(ratios.back(), worst) << name(algorithm->operation) << '/' << algorithm->name << ' ' << bytes;
      }
    }
    std::ranges::sort(ratios);
    EXPECT_LT(ratios[ratios.size() * 3 / 4], typical) << p << ' ' << per_node;
  }
}

TEST(Estimate, LooksAtNoMoreThanItMay) {
  const Ranks ranks(64, 64);
  for (const char* algorithm : {"linear", "pairwise", "bruck"}) {
    int work = 500;
    const Choice choice = parse_choice(alltoall, algorithm);
    Estimator estimator(*known_default(), ranks.placement);
    const double few = estimator(choice, {.operation = alltoall, .p = 64}, 8, work);
    EXPECT_LE(work, 0);
    EXPECT_GE(work, -500);  // the schedule with which it was spent
    EXPECT_FALSE(estimator.complete());
    const double all = simulated(choice, ranks, 8);
    EXPECT_LT(few, 2 * all) << algorithm;  // the others are taken to do what those do that were looked at
    EXPECT_GT(few, all / 2) << algorithm;
  }
}

TEST(Advice, SizesOfAClassHaveOneChoice) {
  EXPECT_EQ(size_class(0).from, 0u);
  EXPECT_EQ(size_class(7).from, 7u);
  EXPECT_EQ(size_class(8).from, 8u);
  EXPECT_EQ(size_class(9).from, 8u);
  EXPECT_EQ(size_class(96 << 10).from, 96u << 10);
  EXPECT_EQ(size_class((112 << 10) - 1).from, 96u << 10);
}

// Whatever else has been asked before: ranks may ask in different orders, as operations under way may.
TEST(Advice, DependsOnTheQuestionAlone) {
  const Selector selector{Settings{}};
  const Ranks ranks(12, 6);
  const Operation operations[] = {bcast, reduce, allreduce, allgather, alltoall, scan, reduce_scatter};
  const std::size_t sizes[] = {0, 8, 1000, 1001, 40'000};
  Advisor forwards = ranks.advisor(), backwards = ranks.advisor();
  std::vector<std::string> found, again;
  const auto ask = [&](Advisor& advisor, std::size_t i, std::vector<std::string>& answers) {
    const Question question = ranks.asked(operations[i / std::size(sizes)], sizes[i % std::size(sizes)]);
    const Advice advice = advisor(selector, question);
    ASSERT_TRUE(advice.choice);
    EXPECT_EQ(why_not(*advice.choice, question, false), "");
    answers.push_back(to_string(*advice.choice) + advice.why);
  };
  const std::size_t count = std::size(operations) * std::size(sizes);
  for (std::size_t i = 0; i < count; ++i) ask(forwards, i, found);
  for (std::size_t i = count; i-- > 0;) ask(backwards, i, again);
  std::ranges::reverse(again);
  EXPECT_EQ(found, again);
}

TEST(Advice, IsCloseToTheBestOfAllCandidates) {
  const Selector selector{Settings{}};
  const Ranks ranks(16, 16);
  Advisor advisor = ranks.advisor();
  for (const Operation operation : {barrier, bcast, reduce, allreduce, gather, scatter, allgather, scan})
    for (const std::size_t bytes : {8, 8192}) {
      const Question question = ranks.asked(operation, bytes);
      double best = never;
      for (const Choice& choice : selector.candidates(question)) best = std::min(best, simulated(choice, ranks, bytes));
      const Advice advice = advisor(selector, question);
      ASSERT_TRUE(advice.choice) << name(operation);
      EXPECT_LE(simulated(*advice.choice, ranks, bytes), 1.45 * best) << name(operation) << ' ' << bytes;
    }
}

TEST(Advice, SaysWhyThereIsNone) {
  const Selector selector{Settings{}};
  const auto why = [&](const Ranks& ranks, const Question& question) {
    return ranks.advisor()(selector, question).why;
  };
  const Ranks four(4, 2), one(1, 1);
  EXPECT_EQ(why(one, one.asked(bcast, 8)), "one rank has no choice");
  EXPECT_EQ(why(four, four.asked(alltoallv, 0)), "the sizes of the parts are not known to all ranks");
  EXPECT_EQ(why(four, four.asked(neighbor_alltoall, 8)), "the topology of the program decides");
  Question apart = four.asked(bcast, 8);
  apart.shared_memory = false;
  EXPECT_EQ(why(four, apart), "ranks of a node share no memory");
}

}  // namespace
}  // namespace omnes::model
