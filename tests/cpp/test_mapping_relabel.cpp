// Relabelled schedules: proved for the whole catalogue and random permutations, and equal to the paper's two algorithms.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "mapping/relabel.hpp"
#include "schedule/text.hpp"
#include "schedule/verify.hpp"

namespace omnes::mapping {
namespace {

Mapping shuffled(int p, unsigned seed) {
  std::vector<std::int32_t> ranks(p);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::shuffle(ranks.begin(), ranks.end(), std::mt19937(seed));
  return mapping_of(ranks);
}

std::vector<Schedule> all_relabelled(const Algorithm& algorithm, Problem problem, const Mapping& mapping, Fixup fixup,
                                     bool ordered = false) {
  std::vector<Schedule> schedules;
  const bool in_place = problem.in_place;
  for (problem.rank = 0; problem.rank < problem.p; ++problem.rank) {
    problem.in_place = in_place && (!rooted(algorithm.operation) || problem.rank == problem.root);
    schedules.push_back(build_relabelled(algorithm, problem, mapping, fixup, ordered));
  }
  return schedules;
}

/// Empty: proved.
std::string fault(const Algorithm& algorithm, const Problem& problem, const Mapping& mapping, Fixup fixup,
                  bool ordered = false) {
  const auto finding = verify(all_relabelled(algorithm, problem, mapping, fixup, ordered), {.ordered = ordered});
  if (!finding) return {};
  return algorithm.name + (" p=" + std::to_string(problem.p)) + " root=" + std::to_string(problem.root) + " " +
         std::string(name(fixup)) + (problem.in_place ? " in place: " : ": ") + to_text(*finding);
}

class Relabelled : public testing::TestWithParam<const Algorithm*> {};

TEST_P(Relabelled, KeepsTheContractForRandomPermutations) {
  const Algorithm& algorithm = *GetParam();
  for (const int p : {1, 2, 3, 4, 6, 7, 8, 12, 16})
    for (const Fixup fixup : {Fixup::exchange, Fixup::reorder})
      for (const bool ordered : {false, true})
        for (const bool in_place : {false, true}) {
          Problem problem{.operation = algorithm.operation, .p = p, .root = p / 3, .in_place = in_place};
          if (algorithm.segmented) problem.segments = 2;
          if (!why_not(algorithm, problem, true).empty() || (in_place && !has_in_place(algorithm.operation))) continue;
          if (ordered && !(reduces(algorithm.operation) && algorithm.ordered)) continue;
          const Mapping mapping = shuffled(p, 7 * p + in_place);
          if (why_not(algorithm.operation, fixup, ordered).empty())
            EXPECT_EQ(fault(algorithm, problem, mapping, fixup, ordered), "");
          else
            EXPECT_THROW(build_relabelled(algorithm, problem, mapping, fixup, ordered), std::invalid_argument);
        }
}

std::vector<const Algorithm*> that_can_be_relabelled() {
  std::vector<const Algorithm*> chosen;
  for (const Algorithm* algorithm : catalogue())
    if (!among_neighbors(algorithm->operation)) chosen.push_back(algorithm);
  return chosen;
}
std::string test_name(const testing::TestParamInfo<const Algorithm*>& info) {
  return std::string(name(info.param->operation)) + "_" + info.param->name;
}
/// Messages, and blocks that are copied.
std::pair<int, int> moved(const Schedule& schedule) {
  std::pair<int, int> sum{0, 0};
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::send) ++sum.first;
    if (op.kind == OpKind::copy) sum.second += op.dst.count;
  }
  return sum;
}

TEST_P(Relabelled, HasWhatTheFixupAddsAlone) {
  const Algorithm& algorithm = *GetParam();
  const Mapping mapping = shuffled(8, 3);
  for (const Fixup fixup : {Fixup::exchange, Fixup::reorder})
    for (int rank = 0; rank < 8; ++rank) {
      const Problem problem{.operation = algorithm.operation, .p = 8, .rank = rank, .root = 2};
      if (!why_not(algorithm.operation, fixup, false).empty()) continue;
      Schedule played = build(algorithm, virtual_problem(problem, mapping, fixup));
      const auto [messages, copied] = moved(played);
      const auto all = moved(relabelled(played, problem, mapping, fixup));
      if (!follows_runs(algorithm.operation, fixup)) played.ops.clear();
      const auto [more_messages, more_copied] = moved(fixup_alone(played, problem, mapping, fixup));
      EXPECT_EQ(all, std::pair(messages + more_messages, copied + more_copied)) << name(fixup) << " rank " << rank;
    }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Relabelled, testing::ValuesIn(that_can_be_relabelled()), test_name);

TEST(Relabelled, BruckAndRecursiveDoublingAreProvedUpTo64Ranks) {
  for (const char* name : {"bruck", "recursive_doubling"})
    for (int p = 1; p <= 64; ++p)
      for (const Fixup fixup : {Fixup::exchange, Fixup::reorder}) {
        const Algorithm& algorithm = *find_algorithm(Operation::allgather, name);
        const Problem problem{.operation = Operation::allgather, .p = p};
        if (!why_not(algorithm, problem, true).empty()) continue;
        EXPECT_EQ(fault(algorithm, problem, shuffled(p, p), fixup), "");
      }
}

/// Whom a rank sends to, or receives from, in order, each round once.
std::vector<int> peers(const Schedule& schedule, OpKind kind) {
  std::vector<int> list;
  for (const Op& op : schedule.ops)
    if (op.kind == kind && (list.empty() || list.back() != op.peer)) list.push_back(op.peer);
  return list;
}

TEST(Relabelled, PeersAreThoseOfThePaper) {
  for (const int p : {5, 8, 13, 16, 64}) {
    const Mapping pi = shuffled(p, 3 * p);
    for (int rank = 0; rank < p; ++rank) {
      const int v = pi.virtual_of[rank];
      const Problem problem{.operation = Operation::allgather, .p = p, .rank = rank};
      std::vector<int> to, from, partners;
      for (int distance = 1; distance < p; distance *= 2) {
        to.push_back(pi.real_of[(v - distance + p) % p]);
        from.push_back(pi.real_of[(v + distance) % p]);
        partners.push_back(v ^ distance);
      }
      const bool moves = v != rank;
      const auto with_exchange = [&](int first, std::vector<int> rest) {
        if (moves && rest.front() != first) rest.insert(rest.begin(), first);
        return rest;
      };
      const Algorithm& bruck = *find_algorithm(Operation::allgather, "bruck");
      const Schedule reordered = build_relabelled(bruck, problem, pi, Fixup::reorder);
      EXPECT_EQ(peers(reordered, OpKind::send), to);
      EXPECT_EQ(peers(reordered, OpKind::recv), from);
      const Schedule exchanged = build_relabelled(bruck, problem, pi, Fixup::exchange);
      EXPECT_EQ(peers(exchanged, OpKind::send), with_exchange(pi.real_of[rank], to));
      EXPECT_EQ(peers(exchanged, OpKind::recv), with_exchange(v, from));
      if ((p & (p - 1)) != 0) continue;
      for (int& partner : partners) partner = pi.real_of[partner];
      const Algorithm& doubling = *find_algorithm(Operation::allgather, "recursive_doubling");
      EXPECT_EQ(peers(build_relabelled(doubling, problem, pi, Fixup::reorder), OpKind::send), partners);
      EXPECT_EQ(peers(build_relabelled(doubling, problem, pi, Fixup::exchange), OpKind::send),
                with_exchange(pi.real_of[rank], partners));
    }
  }
}

TEST(Relabelled, ReorderEndsByMovingEachPartToWhoPlaysIt) {
  const int p = 16;
  const Mapping pi = shuffled(p, 1);
  for (const char* name : {"bruck", "recursive_doubling"}) {
    const Schedule schedule =
        build_relabelled(*find_algorithm(Operation::allgather, name),
                         {.operation = Operation::allgather, .p = p, .rank = 5}, pi, Fixup::reorder);
    std::set<int> moved;
    for (const Op& op : schedule.ops) {
      if (op.kind != OpKind::copy || op.a.buffer != Buffer::temp) continue;
      EXPECT_EQ(op.dst, recv_blocks(pi.real_of[op.a.first]));  // all parts lie aside, so temporary block j is part j
      moved.insert(op.a.first);
    }
    EXPECT_EQ(moved.size(), static_cast<std::size_t>(p));
  }
}

TEST(Relabelled, SinglePartsAreWrittenStraightIntoTheirPlace) {
  for (const auto& [operation, name] :
       {std::pair{Operation::allgather, "ring"}, {Operation::alltoall, "pairwise"}, {Operation::gather, "linear"}})
    for (const Schedule& schedule : all_relabelled(*find_algorithm(operation, name), {.operation = operation, .p = 9},
                                                   shuffled(9, 2), Fixup::reorder))
      EXPECT_TRUE(schedule.temp.empty()) << to_text(schedule);
}

TEST(Relabelled, ExchangeOfAllgatherNeedsNoCopyAndNoMemory) {
  const Mapping pi = mapping_of({1, 2, 3, 0});
  const Schedule schedule = build_relabelled(*find_algorithm(Operation::allgather, "recursive_doubling"),
                                             {.operation = Operation::allgather, .p = 4}, pi, Fixup::exchange);
  EXPECT_EQ(to_text(schedule), R"(allgather p 4 rank 0 root 0 radix 0 segments 1 pieces 1
0 send to 3: send[0]
1 recv from 1: recv[1]
2 send to 3: recv[1]  after 1
3 recv from 3: recv[0]
4 send to 2: recv[0..1]  after 1 3
5 recv from 2: recv[2..3]
)");
}

TEST(Relabelled, RefusalsSayWhy) {
  EXPECT_EQ(why_not(Operation::scan, Fixup::reorder, false), "a prefix follows the order of the ranks");
  EXPECT_EQ(why_not(Operation::reduce, Fixup::reorder, true), "the reduction must keep the order of the ranks");
  EXPECT_EQ(why_not(Operation::alltoallv, Fixup::exchange, false), "the sizes to exchange are known to others only");
  EXPECT_EQ(why_not(Operation::neighbor_alltoall, Fixup::reorder, false),
            "its messages follow the program's topology: only the program can renumber");
  EXPECT_THROW(mapping_of({0, 0}), std::invalid_argument);
}

}  // namespace
}  // namespace omnes::mapping
