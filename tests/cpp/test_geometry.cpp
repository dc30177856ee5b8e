// The shapes that algorithms share: trees span, subtrees are what they say, butterflies gather everything.
#include <gtest/gtest.h>

#include <set>

#include "algorithms/bine.hpp"
#include "algorithms/circulant_broadcast.hpp"

namespace omnes {
namespace {

std::set<int> ranks_of(Arc arc, int p) {
  std::set<int> ranks;
  for (int i = 0; i < arc.count; ++i) ranks.insert((arc.first + i) % p);
  return ranks;
}

TEST(BineTree, IsThePapersForEightRanks) {
  EXPECT_EQ(bine_tree(0, 8).children, (std::vector<std::int32_t>{1, 7, 3}));
  EXPECT_EQ(bine_tree(3, 8).children, (std::vector<std::int32_t>{2, 4}));
  EXPECT_EQ(bine_tree(4, 8).children, (std::vector<std::int32_t>{5}));
  EXPECT_EQ(bine_tree(7, 8).children, (std::vector<std::int32_t>{6}));
  EXPECT_EQ(bine_subtree(3, 8), (Arc{2, 4}));
  EXPECT_EQ(bine_subtree(7, 8), (Arc{6, 2}));
}

TEST(BineTree, SubtreesAreArcsAndDepthIsLogarithmic) {
  for (int p = 1; p <= 70; ++p) {
    for (int v = 0; v < p; ++v) {
      std::set<int> joined = {v};
      for (const int child : bine_tree(v, p).children) {
        EXPECT_EQ(bine_tree(child, p).parent, v);
        joined.merge(ranks_of(bine_subtree(child, p), p));
      }
      EXPECT_EQ(joined, ranks_of(bine_subtree(v, p), p)) << "p=" << p << " v=" << v;
      int depth = 0;
      for (int up = v; up != 0; up = bine_tree(up, p).parent) ++depth;
      EXPECT_LE(depth, bine_steps(p));
    }
    EXPECT_EQ(bine_subtree(0, p).count, p);
    EXPECT_EQ(bine_tree(0, p).parent, -1);
  }
}

TEST(BineButterfly, GathersEveryRankOnceFromAPeerThatHasIt) {
  for (int p = 2; p <= 70; p += 2) {
    for (int rank = 0; rank < p; ++rank) {
      EXPECT_EQ(ranks_of(bine_gathered(rank, 0, p), p), std::set{rank});
      for (int step = 0; step < bine_steps(p); ++step) {
        const int peer = bine_peer(rank, step, p);
        EXPECT_EQ(bine_peer(peer, step, p), rank);
        const std::set<int> there = ranks_of(bine_gathered(peer, step, p), p);
        std::set<int> here = ranks_of(bine_gathered(rank, step, p), p);
        for (const int incoming : ranks_of(bine_incoming(rank, step, p), p)) {
          EXPECT_TRUE(there.contains(incoming));
          EXPECT_TRUE(here.insert(incoming).second);
        }
        EXPECT_EQ(here, ranks_of(bine_gathered(rank, step + 1, p), p)) << "p=" << p << " rank=" << rank;
      }
    }
  }
}

TEST(CirculantBroadcast, DeliversEveryBlockOnceFromRanksThatHaveIt) {
  constexpr int blocks = 7;
  for (int p = 2; p <= 300; ++p) {
    const CirculantBroadcast graph(p);
    std::vector<std::set<int>> has(p);
    for (int block = 0; block < blocks; ++block) has[0].insert(block);
    std::vector<std::vector<CirculantRound>> rounds;
    for (int rank = 0; rank < p; ++rank) rounds.push_back(graph.rounds(rank, blocks));
    for (std::size_t i = 0; i < rounds[0].size(); ++i) {
      const std::vector<std::set<int>> before = has;
      for (int rank = 1; rank < p; ++rank) {
        const auto [skip, sent, block] = rounds[rank][i];
        if (block < 0) continue;
        const int from = (rank - skip + p) % p;
        EXPECT_EQ(rounds[from][i].sent, block) << "p=" << p << " rank=" << rank << " round=" << i;
        EXPECT_TRUE(before[from].contains(block)) << "p=" << p << " rank=" << rank << " round=" << i;
        EXPECT_TRUE(has[rank].insert(block).second) << "p=" << p << " rank=" << rank << " round=" << i;
      }
    }
    for (const auto& blocks_of_rank : has) EXPECT_EQ(blocks_of_rank.size(), blocks) << "p=" << p;
  }
}

}  // namespace
}  // namespace omnes
