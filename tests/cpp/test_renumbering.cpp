// When a team renumbers its ranks: what decides, what forces it, and why it does not.
#include <gtest/gtest.h>

#include "runtime/renumbering.hpp"

namespace omnes {
namespace {

/// Ranks on nodes of the given size, consecutive or dealt in turns.
Placement on_nodes(int p, int size, bool cyclic = false) {
  Placement placement{.p = p, .levels = {{"node", {}}}};
  for (int rank = 0; rank < p; ++rank) placement.levels[0].unit.push_back(cyclic ? rank % (p / size) : rank / size);
  return placement;
}

struct Asked {
  Operation operation;
  const char* choice;
  std::optional<std::size_t> bytes = 16384;
  bool commutative = true;
  int root = 0;
};

Renumbered find(Renumbering& renumbering, const Asked& asked) {
  return renumbering.find(parse_choice(asked.operation, asked.choice), asked.operation, asked.root, asked.bytes,
                          asked.commutative);
}

Renumbered find(Remap wanted, const Placement& placement, const Asked& asked, bool reproducible = false) {
  Renumbering renumbering(wanted, reproducible, placement);
  return find(renumbering, asked);
}

using enum Operation;

TEST(Renumbering, IsUsedWhereItPays) {
  const Placement block = on_nodes(64, 8), cyclic = on_nodes(64, 8, true);
  const struct {
    const Placement& placement;
    Asked asked;
    const char* text;
  } cases[] = {
      {block, {allgather, "bruck"}, " remap=exch"},
      {cyclic, {allgather, "bruck"}, ""},  // the heavy messages stay on a node
      {block, {allgather, "recursive_doubling"}, " remap=exch"},
      {block, {allgather, "bruck", 8}, ""},
      {cyclic, {allgather, "ring"}, " remap=reorder"},
      {cyclic, {allgatherv, "ring"}, " remap=reorder"},
      {block, {allgather, "ring"}, ""},
      {cyclic, {reduce_scatter_block, "ring"}, " remap=reorder"},
      {cyclic, {allreduce, "ring"}, " remap=reorder"},
      {cyclic, {allreduce, "rabenseifner"}, " remap=reorder"},
      {cyclic, {bcast, "knomial"}, " remap=reorder"},
      {cyclic, {alltoall, "pairwise"}, ""},
  };
  for (const auto& [placement, asked, text] : cases)
    EXPECT_EQ(find(Remap::automatic, placement, asked).text(), text)
        << name(asked.operation) << ' ' << asked.choice << (&placement == &block ? " block" : " cyclic");
}

TEST(Renumbering, SaysWhyRanksPlayThemselves) {
  const Placement block = on_nodes(8, 4), cyclic = on_nodes(8, 4, true), one{.p = 8, .levels = {}};
  Placement halves = on_nodes(8, 4, true);
  halves.levels[0].name = "numa";
  const struct {
    Remap wanted;
    const Placement& placement;
    Asked asked;
    const char* why;
  } cases[] = {
      {Remap::off, cyclic, {allgather, "ring"}, "OMNES_REMAP=off"},
      {Remap::exchange, one, {allgather, "ring"}, "no ranks are known to lie closer together than others"},
      {Remap::automatic, cyclic, {allgather, "hierarchical"}, "a hierarchical algorithm follows the levels itself"},
      {Remap::automatic, block, {allgather, "ring"}, "the ranks lie well for it"},
      {Remap::reorder, halves, {allgather, "ring"}, "the ranks lie well for it"},  // memory is memory
      {Remap::automatic, cyclic, {alltoall, "pairwise"}, "all ranks send each other the same"},
      {Remap::automatic,
       cyclic,
       {gatherv, "linear", std::nullopt},
       "the sizes of the parts are not known to all ranks"},
      {Remap::automatic,
       cyclic,
       {allreduce, "recursive_doubling", 8, false},
       "the reduction must keep the order of the ranks"},
      {Remap::reorder, cyclic, {scan, "linear"}, "a prefix follows the order of the ranks"},
      {Remap::exchange, cyclic, {alltoallv, "linear"}, "the sizes to exchange are known to others only"},
      {Remap::reorder,
       cyclic,
       {neighbor_allgather, "linear"},
       "its messages follow the program's topology: only the program can renumber"},
  };
  for (const auto& [wanted, placement, asked, why] : cases) {
    const Renumbered found = find(wanted, placement, asked);
    EXPECT_EQ(found.mapping, nullptr) << why;
    EXPECT_EQ(found.why, why);
  }
  EXPECT_EQ(find(Remap::reorder, cyclic, {allreduce, "ring"}, true).why,
            "the reduction must keep the order of the ranks");
}

TEST(Renumbering, IsForcedWhateverItCosts) {
  const Placement cyclic = on_nodes(8, 4, true);
  EXPECT_EQ(find(Remap::automatic, cyclic, {scan, "linear", 8}).text(), "");
  EXPECT_EQ(find(Remap::exchange, cyclic, {scan, "linear", 8}).text(), " remap=exch");
  EXPECT_EQ(find(Remap::reorder, cyclic, {alltoallv, "pairwise", std::nullopt}).mapping, nullptr);  // lies well
  const Renumbered ordered = find(Remap::exchange, cyclic, {reduce, "linear", 8, false, 3});
  EXPECT_TRUE(ordered.ordered);
}

// The file that omnes measure would write where messages between nodes were as fast as within: nothing is to be gained.
TEST(Renumbering, AsksTheMachineThatIsMeasured) {
  model::MachineCosts machine = *model::known_default();
  const Placement cyclic = on_nodes(64, 8, true);
  Renumbering by_default(Remap::automatic, false, cyclic);
  EXPECT_NE(find(by_default, {allgather, "ring"}).mapping, nullptr);
  model::LevelCosts everywhere = machine.levels.front();
  everywhere.name = "network";
  everywhere.out = 0;
  machine.levels = {everywhere};
  Renumbering measured(Remap::automatic, false, cyclic, std::make_shared<const model::MachineCosts>(machine));
  EXPECT_EQ(find(measured, {allgather, "ring"}).why, "the ranks lie well for it");
}

// Short parts are sent one by one, so work is most of the time; without shared memory it is the same wherever they go.
TEST(Renumbering, CountsTheWorkOfMessagesThatNoMemoryCarries) {
  const Placement cyclic = on_nodes(32, 4, true);
  for (const bool shares_memory : {true, false}) {
    Renumbering renumbering(Remap::automatic, false, cyclic, nullptr, shares_memory);
    EXPECT_EQ(find(renumbering, {allgather, "sparbit", 256}).mapping != nullptr, shares_memory);
    EXPECT_NE(find(renumbering, {allgather, "sparbit", 16384}).mapping, nullptr);
  }
}

TEST(Renumbering, IsFoundOnceForAllSizes) {
  Renumbering renumbering(Remap::automatic, false, on_nodes(64, 8));
  const Renumbered small = find(renumbering, {allgather, "bruck", 4096}),
                   large = find(renumbering, {allgather, "bruck", 65536}),
                   tree = find(renumbering, {bcast, "knomial", 65536, true, 5});
  ASSERT_NE(small.mapping, nullptr);
  EXPECT_EQ(small.mapping, large.mapping);
  EXPECT_LT(small.gain, large.gain);
  ASSERT_NE(tree.mapping, nullptr);
  EXPECT_EQ(tree.mapping->virtual_of[5], 5);
}

}  // namespace
}  // namespace omnes
