// The groups of placements, and what is composed over them.
#include "schedule/hierarchy.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "algorithms/embedding.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/proof.hpp"
#include "algorithms/samples.hpp"
#include "schedule/text.hpp"
#include "select/choice.hpp"

namespace omnes {
namespace {

/// `units(rank)` for each level.
using Unit = int (*)(int rank);
Placement placed(int p, std::vector<std::pair<const char*, Unit>> levels) {
  Placement placement{p, {}};
  for (const auto& [name, unit] : levels) {
    placement.levels.push_back({name, {}});
    for (int rank = 0; rank < p; ++rank) placement.levels.back().unit.push_back(unit(rank));
  }
  return placement;
}

std::shared_ptr<const Hierarchy> hierarchy(const Placement& placement) {
  return std::make_shared<const Hierarchy>(placement);
}

/// "numa{0 1 2}": each group that the rank is a member of.
std::string groups_text(const std::vector<Group>& groups, const Hierarchy& hierarchy) {
  std::ostringstream text;
  for (const Group& group : groups) {
    text << (group.level > 0 ? " " : "") << hierarchy.name(group.level);
    for (std::size_t i = 0; i < group.ranks.size(); ++i) text << (i > 0 ? ' ' : '{') << group.ranks[i];
    text << '}';
  }
  return text.str();
}

TEST(Hierarchy, HasTheGroupsOfThePaper) {
  // Nodes 1, 2 and 48 with 36 processes each, on 2 NUMA nodes of 18; nodes 1 and 2 on one switch, 48 on another.
  const Hierarchy paper(placed(108, {{"numa", [](int rank) { return rank / 18; }},
                                     {"node", [](int rank) { return rank / 36; }},
                                     {"switch", [](int rank) { return rank / 72; }}}));
  const auto numa = [](int first) {
    std::ostringstream text;
    for (int rank = first; rank < first + 18; ++rank) text << (rank > first ? " " : "numa{") << rank;
    return text.str() + "}";
  };
  const auto text = [&](int rank) { return groups_text(paper.groups_of(rank), paper); };
  EXPECT_EQ(text(0), numa(0) + " node{0 18} switch{0 36} top{0 72}");
  EXPECT_EQ(text(1), numa(0));
  EXPECT_EQ(text(36), numa(36) + " node{36 54} switch{0 36}");
  EXPECT_EQ(text(90), numa(90) + " node{72 90}");
}

TEST(Hierarchy, PassesOverLevelsThatGroupNobody) {
  const auto names = [](const Placement& placement) {
    const Hierarchy one(placement);
    std::ostringstream text;
    for (std::size_t level = 0; level < one.levels(); ++level) text << (level > 0 ? " " : "") << one.name(level);
    return text.str();
  };
  const Unit each = [](int rank) { return rank; }, pairs = [](int rank) { return rank / 2; },
             all = [](int) { return 7; };
  EXPECT_EQ(names({6, {}}), "top");
  EXPECT_EQ(names(placed(6, {{"node", each}})), "top");
  EXPECT_EQ(names(placed(6, {{"core", each}, {"numa", pairs}, {"socket", pairs}, {"node", all}, {"switch", all}})),
            "numa node");
  EXPECT_EQ(names(placed(6, {{"numa", pairs}})), "numa top");
  EXPECT_EQ(names({1, {}}), "top");
}

TEST(Hierarchy, RefusesALevelThatIsTooShort) {
  try {
    Hierarchy({3, {{"node", {0, 0}}}});
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "level node lists the units of 2 ranks, but there are 3");
  }
}

TEST(Hierarchy, LetsTheRootRepresentItsUnits) {
  const Hierarchy nodes(placed(12, {{"node", [](int rank) { return rank / 4; }}}));
  EXPECT_EQ(groups_text(nodes.groups_of(6, 6), nodes), "node{4 5 6 7} top{0 6 8}");
  EXPECT_EQ(nodes.groups_of(6, 6).back().root, 1);
  EXPECT_EQ(groups_text(nodes.groups_of(4, 6), nodes), "node{4 5 6 7}");
  EXPECT_EQ(groups_text(nodes.groups_by_last(7), nodes), "node{4 5 6 7} top{3 7 11}");
}

TEST(Hierarchy, PutsRanksThatCorrespondIntoLanes) {
  const Hierarchy nodes(placed(12, {{"node", [](int rank) { return rank / 4; }}}));
  EXPECT_TRUE(nodes.uniform());
  EXPECT_EQ(groups_text(nodes.lanes_of(6), nodes), "node{4 5 6 7} top{2 6 10}");
  const Hierarchy in_turn(
      placed(8, {{"numa", [](int rank) { return rank % 4; }}, {"node", [](int rank) { return rank % 2; }}}));
  EXPECT_EQ(groups_text(in_turn.lanes_of(5), in_turn), "numa{1 5} node{5 7} top{4 5}");
  EXPECT_FALSE(Hierarchy(placed(6, {{"node", [](int rank) { return rank / 4; }}})).uniform());
}

TEST(Hierarchy, SpreadsSlicesOverTheWholeUnit) {
  const Hierarchy nodes(
      placed(16, {{"numa", [](int rank) { return rank / 2; }}, {"node", [](int rank) { return rank / 8; }}}));
  std::set<int> leaders;
  for (int slice = 0; slice < 8; ++slice)
    for (int rank = 0; rank < 8; ++rank)
      if (nodes.groups_of(rank, -1, slice).size() == 3) leaders.insert(rank);
  EXPECT_EQ(leaders.size(), 8u);
  EXPECT_EQ(groups_text(nodes.groups_of(2, -1, 1), nodes), "numa{2 3} node{0 2 4 6} top{2 10}");
}

TEST(Hierarchy, PutsRanksOfAUnitSideBySide) {
  const Hierarchy in_turn(placed(7, {{"node", [](int rank) { return 5 - rank % 3; }}}));
  std::vector<int> order;
  for (int position = 0; position < 7; ++position) order.push_back(in_turn.rank_at(position));
  EXPECT_EQ(order, (std::vector{0, 3, 6, 1, 4, 2, 5}));
  EXPECT_FALSE(in_turn.in_rank_order());
  EXPECT_TRUE(in_turn.uneven(1));
  EXPECT_EQ(in_turn.starts_of_widest(), (std::vector{0, 3, 5, 7}));
}

struct Composed {
  Operation operation;
  const char* choice;
  int segments = 1;
};

/// Every operation, with other algorithms than the defaults, trees and such that cut the message.
const Composed composed[] = {
    {Operation::bcast, "hierarchical:numa=chain,node=scatter_ring,switch=knomial:k=3,top=circulant", 3},
    {Operation::bcast, "hierarchical:k=2,node=binary,top=scatter_recursive_doubling", 2},
    {Operation::bcast, "hierarchical:k=5,numa=double_tree,node=split_binary,top=pipeline", 2},
    {Operation::reduce, "hierarchical:numa=linear,node=rabenseifner,switch=chain,top=sliced", 2},
    {Operation::reduce, "hierarchical:k=3,node=circulant,top=knomial:k=4", 2},
    {Operation::allreduce, "hierarchical:numa=linear,node=knomial:k=4,switch=rabenseifner,top=ring", 2},
    {Operation::allreduce, "hierarchical:k=4,node=sliced,top=rabenseifner"},
    {Operation::allreduce, "hierarchical_reduce_bcast:k=2,node=chain,top=rabenseifner", 3},
    {Operation::barrier, "hierarchical:numa=chain,node=rabenseifner,switch=scatter_ring,top=ring"},
    {Operation::gather, "hierarchical:node=linear_sync:k=1,top=linear"},
    {Operation::scatter, "hierarchical:node=flat,top=linear"},
    {Operation::allgather, "hierarchical:node=chain,top=ring"},
    {Operation::allgatherv, "hierarchical:node=scatter_ring,top=kring:k=2"},
    {Operation::alltoall, "hierarchical:top=pairwise"},
    {Operation::alltoallv, "hierarchical:top=tuna"},
    {Operation::alltoallw, "hierarchical:node=linear_sync,top=exchange"},
    {Operation::reduce_scatter_block, "hierarchical:node=rabenseifner,top=pairwise"},
    {Operation::reduce_scatter, "hierarchical:node=chain,top=reduce_then_scatter:k=3"},
    {Operation::scan, "hierarchical:numa=doubling_123,node=linear,switch=scatter_ring,top=smp", 2},
    {Operation::exscan, "hierarchical:numa=linear,node=binomial,top=doubling_123", 2},
    {Operation::bcast, "lanes:numa=binomial,node=linear,top=scatter_ring", 2},
    {Operation::reduce, "lanes:numa=linear,node=ring,switch=butterfly,top=rabenseifner", 3},
    {Operation::allreduce, "lanes:node=pairwise,top=ring", 2},
    {Operation::allreduce, "lanes_whole:numa=linear,node=rabenseifner,top=recursive_multiplying:k=3"},
    {Operation::barrier, "lanes:node=linear,top=dissemination:k=4"},
    {Operation::alltoall, "lanes:numa=linear,node=bruck,top=pairwise"},
    {Operation::allgather, "lanes:node=ring,top=linear"},
    {Operation::allgatherv, "lanes:numa=linear,node=bruck,top=ring"},
    {Operation::reduce_scatter_block, "lanes:numa=linear,node=ring,top=pairwise"},
    {Operation::reduce_scatter, "lanes:node=recursive_halving,top=butterfly"},
};

class Compositions : public testing::TestWithParam<Composed> {};

TEST_P(Compositions, AreProvedOnEveryPlacement) {
  const auto& [operation, text, segments] = GetParam();
  const Choice choice = parse_choice(operation, text);
  EXPECT_EQ(to_string(parse_choice(operation, to_string(choice))), to_string(choice));
  int proved = 0;
  for (const int p : {1, 2, 5, 8, 12, 23})
    for (const auto& [name, placement] : sample_placements(p))
      for (const int root : {0, p / 2, p - 1})
        for (const bool in_place : {false, true}) {
          Problem problem{.operation = operation, .p = p, .root = root, .segments = segments};
          if ((!rooted(operation) && root > 0) || (in_place && !has_in_place(operation))) continue;
          problem.hierarchy = hierarchy(placement);
          if (!why_not(choice, problem, true).empty()) continue;
          problem.radix = choice.radix;
          problem.composition = choice.levels;
          EXPECT_EQ(prove_on(*choice.algorithm, problem, in_place), "") << name;
          ++proved;
        }
  EXPECT_GT(proved, 10);
}

INSTANTIATE_TEST_SUITE_P(Table, Compositions, testing::ValuesIn(composed));

TEST(Composed, SaysWhyNot) {
  const auto reason = [](Operation operation, const char* text, const Placement& placement, bool commutative = true) {
    const Problem problem{.operation = operation, .p = placement.p, .hierarchy = hierarchy(placement)};
    return why_not(parse_choice(operation, text), problem, commutative);
  };
  const Placement in_turn = placed(6, {{"node", [](int rank) { return rank % 2; }}});
  const Placement uneven = placed(6, {{"node", [](int rank) { return rank / 4; }}});
  const Placement triples = placed(9, {{"node", [](int rank) { return rank / 3; }}});
  using enum Operation;
  EXPECT_EQ(reason(allreduce, "hierarchical", in_turn), "");
  EXPECT_EQ(reason(allreduce, "hierarchical", in_turn, false),
            "needs the ranks of each unit to be consecutive where the operation is the program's");
  EXPECT_EQ(reason(allreduce, "hierarchical", uneven, false), "");
  EXPECT_EQ(reason(allgather, "lanes", uneven), "needs as many ranks on each unit of a level");
  EXPECT_EQ(reason(allreduce, "lanes:top=ring", triples), "");
  EXPECT_EQ(reason(scan, "hierarchical", in_turn), "needs the ranks of each unit to be consecutive");
  EXPECT_EQ(reason(allreduce, "hierarchical:top=ring", uneven, false),
            "has at level top allreduce/ring, which needs a predefined operation");
  EXPECT_EQ(reason(allgather, "hierarchical:top=recursive_doubling", triples),
            "has at level top allgather/recursive_doubling, which needs a power-of-two number of ranks");
  EXPECT_EQ(reason(allreduce, "hierarchical:node=ring", uneven), "");  // bcast knows it
  EXPECT_EQ(reason(allreduce, "hierarchical:node=swing", uneven),
            "composes at level node reduce or bcast, which no swing does");
  EXPECT_EQ(reason(gather, "hierarchical:top=bine", triples), "");
  EXPECT_EQ(reason(gather, "hierarchical:top=bine", uneven), "composes at level top gatherv, which no bine does");
  Problem other{.operation = bcast, .p = 5, .hierarchy = hierarchy(uneven)};
  EXPECT_EQ(why_not(parse_choice(bcast, "hierarchical"), other, true), "knows where 6 ranks lie, not 5");
}

TEST(Composed, NamesLevelsThatAreNotThere) {
  const Choice choice = parse_choice(Operation::bcast, "hierarchical:numa=linear,node=chain,switch=knomial");
  const Hierarchy nodes(placed(6, {{"node", [](int rank) { return rank / 2; }}}));
  EXPECT_EQ(levels_passed_over(choice.levels, &nodes), "numa, switch");
  EXPECT_EQ(levels_passed_over(choice.levels, nullptr), "numa, node, switch");
}

Schedule of_rank(Operation operation, const char* text, const Placement& placement, int rank, int segments = 1) {
  const Choice choice = parse_choice(operation, text);
  return build(*choice.algorithm, {.operation = operation,
                                   .p = placement.p,
                                   .rank = rank,
                                   .radix = choice.radix,
                                   .segments = segments,
                                   .hierarchy = hierarchy(placement),
                                   .composition = choice.levels});
}

TEST(Composed, SegmentsGoOnAsSoonAsTheyArrive) {
  const Placement nodes = placed(8, {{"node", [](int rank) { return rank / 4; }}});
  EXPECT_EQ(to_text(of_rank(Operation::bcast, "hierarchical", nodes, 4, 2)),
            "bcast p 8 rank 4 root 0 radix 1 segments 2 pieces 2\n"
            "0 recv from 0: recv[0]\n"
            "1 recv from 0: recv[1]\n"
            "2 send to {5 6 7}: recv[0]  after 0\n"
            "3 send to {5 6 7}: recv[1]  after 1\n");
}

TEST(Composed, TextRoundTrips) {
  for (const auto& [name, placement] : sample_placements(9))
    for (const auto& [operation, choice, segments] : composed) {
      const Problem problem{.operation = operation, .p = 9, .hierarchy = hierarchy(placement)};
      if (!why_not(parse_choice(operation, choice), problem, true).empty()) continue;
      for (const int rank : {0, 4}) {
        const Schedule schedule = of_rank(operation, choice, placement, rank, segments);
        EXPECT_TRUE(from_text(to_text(schedule)) == schedule) << choice << ", " << name;
      }
    }
}

TEST(Composed, TakesMemoryForWhatARankTouches) {
  const Placement large = placed(8192, {{"l3", [](int rank) { return rank / 8; }},
                                        {"numa", [](int rank) { return rank / 16; }},
                                        {"socket", [](int rank) { return rank / 32; }},
                                        {"node", [](int rank) { return rank / 64; }},
                                        {"switch", [](int rank) { return rank / 1024; }}});
  EXPECT_EQ(Hierarchy(large).levels(), 6u);
  EXPECT_LT(of_rank(Operation::allreduce, "hierarchical", large, 0).ops.size(), 50u);
  EXPECT_LT(of_rank(Operation::allreduce, "hierarchical", large, 5).ops.size(), 5u);
  EXPECT_LT(of_rank(Operation::gather, "hierarchical", large, 64).temp.size(), 1025u);
}

}  // namespace
}  // namespace omnes
