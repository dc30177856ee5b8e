// Traffic of schedules, and the groups found in it: by closed form, and by partitioning irregular graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "mapping/choose.hpp"
#include "schedule/contract.hpp"

namespace omnes::mapping {
namespace {

Traffic traffic_of(Operation operation, const char* name, int p, int root = 0) {
  return mapping::traffic_of(*find_algorithm(operation, name), {.operation = operation, .p = p, .root = root});
}

/// Ranks on nodes of the given size, consecutive or dealt in turns; with `wide`, so many nodes to a switch.
Placement on_nodes(int p, int size, bool cyclic = false, int wide = 0) {
  Placement placement{.p = p, .levels = {{"node", {}}}};
  for (int rank = 0; rank < p; ++rank) placement.levels[0].unit.push_back(cyclic ? rank % (p / size) : rank / size);
  if (wide == 0) return placement;
  placement.levels.push_back({"switch", {}});
  for (const std::int32_t node : placement.levels[0].unit) placement.levels[1].unit.push_back(node / wide);
  return placement;
}

/// The virtual ranks of each unit of the nearest level.
std::set<std::set<int>> groups(const Mapping& mapping, const Placement& placement) {
  std::map<int, std::set<int>> by_unit;
  for (int rank = 0; rank < placement.p; ++rank)
    by_unit[placement.levels[0].unit[rank]].insert(mapping.virtual_of[rank]);
  std::set<std::set<int>> all;
  for (const auto& [unit, group] : by_unit) all.insert(group);
  return all;
}

Graph random_graph(int vertices, unsigned seed) {
  std::mt19937 random(seed);
  return graph_of(mapping::traffic_of(vertices, [&](int rank) {
    Row row;
    for (int peer = 0; peer < vertices; ++peer)
      if (peer != rank && random() % 4 == 0) row.emplace_back(peer, 1 + random() % 100);
    return row;
  }));
}

TEST(Traffic, OfBruckIsThePapers) {
  const Traffic traffic = traffic_of(Operation::allgather, "bruck", 8);
  for (int rank = 0; rank < 8; ++rank)
    for (const auto& [distance, amount] : {std::pair{1, 1}, {2, 2}, {4, 4}}) {
      const auto begin = traffic.peer.begin() + traffic.first[rank],
                 end = traffic.peer.begin() + traffic.first[rank + 1];
      const auto found = std::find(begin, end, (rank - distance + 8) % 8);
      ASSERT_NE(found, end);
      EXPECT_EQ(traffic.amount[found - traffic.peer.begin()], amount);
      EXPECT_EQ(end - begin, 3);
    }
  EXPECT_EQ(weight_between(graph_of(traffic), 0, 4), 8);
}

TEST(Traffic, IsCountedAsSchedulesHaveIt) {
  for (const Algorithm* algorithm : catalogue()) {
    const Problem problem{.operation = algorithm->operation, .p = 8, .rank = 5};
    if (among_neighbors(algorithm->operation)) continue;
    EXPECT_EQ(row_of(build(*algorithm, problem)), row_of(*algorithm, problem, 5)) << algorithm->name;
  }
}

TEST(Traffic, PublishesReachEverybodyAndBarriersCountMessages) {
  const Traffic all = traffic_of(Operation::barrier, "all_to_all", 5);
  EXPECT_EQ(all.peer.size(), 20u);
  EXPECT_EQ(std::set(all.amount.begin(), all.amount.end()), std::set<std::int64_t>{1});
}

TEST(Traffic, UnequalPartsHaveTheSizesGiven) {
  const auto size = [](const Schedule& schedule, Blocks run, int i) -> std::int64_t {
    return size_class(schedule, run, i) >> 42 == 2 ? 1000 : 1;  // the part of rank 2 is large
  };
  const Problem problem{.operation = Operation::allgatherv, .p = 4};
  const Row row = row_of(*find_algorithm(Operation::allgatherv, "ring"), problem, 2, size);
  ASSERT_EQ(row.size(), 1u);
  EXPECT_EQ(row[0].second, 1002);
}

TEST(Traffic, FilesAreReadAndAddedUp) {
  std::istringstream good("0 1 10\n# comment\n\n0 1 5  # more\n2 0 7\n1 1 9\n");
  const Traffic traffic = read_traffic(good, 4);
  EXPECT_EQ(traffic, (Traffic{4, {0, 1, 1, 2, 2}, {1, 0}, {15, 7}}));
  for (const char* bad : {"0 1", "0 -1 2", "a b c", "0 1 2 3"}) {
    std::istringstream in(std::string("0 1 1\n") + bad);
    try {
      read_traffic(in);
      ADD_FAILURE() << bad;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()), std::string("line 2: expected 'rank rank bytes', found '") + bad + "'");
    }
  }
}

TEST(Structure, SeesRotationsExclusiveOrAndAlternations) {
  EXPECT_EQ(pattern_of(traffic_of(Operation::allgather, "bruck", 12)).symmetry, Symmetry::rotation);
  EXPECT_EQ(pattern_of(traffic_of(Operation::allgather, "ring", 7)).symmetry, Symmetry::rotation);
  EXPECT_EQ(pattern_of(traffic_of(Operation::alltoall, "pairwise", 9)).symmetry, Symmetry::rotation);
  EXPECT_EQ(pattern_of(traffic_of(Operation::barrier, "dissemination", 10)).symmetry, Symmetry::rotation);
  EXPECT_EQ(pattern_of(traffic_of(Operation::allgather, "recursive_doubling", 16)).symmetry, Symmetry::exclusive_or);
  EXPECT_EQ(pattern_of(traffic_of(Operation::allgather, "swing", 12)).symmetry, Symmetry::alternation);
  EXPECT_EQ(pattern_of(traffic_of(Operation::alltoall, "bine", 16)).symmetry, Symmetry::alternation);
  EXPECT_EQ(pattern_of(traffic_of(Operation::bcast, "knomial", 8)).symmetry, Symmetry::none);
}

TEST(Structure, OfSampledRanksIsThatOfAll) {
  const Algorithm& bruck = *find_algorithm(Operation::allgather, "bruck");
  const Problem problem{.operation = Operation::allgather, .p = 5000};
  const auto sample = sample_of(5000, 256);
  EXPECT_LT(sample.size(), 400u);
  const Pattern seen = pattern_of(5000, sample, [&](int rank) { return row_of(bruck, problem, rank); });
  const Pattern all = pattern_of(mapping::traffic_of(bruck, problem));
  EXPECT_EQ(seen.symmetry, all.symmetry);
  EXPECT_EQ(seen.offsets, all.offsets);
}

TEST(Structure, PartsOfBruckOnTwoNodesAreThePapers) {
  const Placement placement = on_nodes(8, 4);
  const Traffic traffic = traffic_of(Operation::allgather, "bruck", 8);
  const std::set<std::set<int>> expected{{0, 2, 4, 6}, {1, 3, 5, 7}};
  EXPECT_EQ(groups(map_by_structure(pattern_of(traffic), placement), placement), expected);
  EXPECT_EQ(groups(map_by_graph(graph_of(traffic), placement), placement), expected);
}

TEST(Structure, IsNoWorseThanPartitioningWhereSizesArePowersOfTwo) {
  for (const char* name : {"bruck", "ring", "recursive_doubling", "circulant", "linear", "sparbit"})
    for (const auto& [p, size] : {std::pair{16, 4}, {32, 8}, {64, 8}, {64, 32}}) {
      const Algorithm& algorithm = *find_algorithm(Operation::allgather, name);
      const Problem problem{.operation = Operation::allgather, .p = p};
      if (!why_not(algorithm, problem, true).empty()) continue;
      const Traffic traffic = mapping::traffic_of(algorithm, problem);
      const Placement placement = on_nodes(p, size);
      const Mapping found = map_by_structure(pattern_of(traffic), placement);
      ASSERT_FALSE(found.real_of.empty()) << name << p;
      const auto bandwidths = default_bandwidths(placement);
      EXPECT_LE(cost_of(traffic, placement, found, bandwidths).time,
                1.0001 * cost_of(traffic, placement, map_by_graph(graph_of(traffic), placement), bandwidths).time)
          << name << " p=" << p << " size=" << size;
    }
}

TEST(Structure, NestsGroupsOfAllLevels) {
  const Placement placement = on_nodes(64, 4, false, 4);
  const Mapping found = map_by_structure(pattern_of(traffic_of(Operation::allgather, "bruck", 64)), placement);
  std::map<int, std::set<int>> by_switch;
  for (int rank = 0; rank < 64; ++rank) by_switch[placement.levels[1].unit[rank]].insert(found.virtual_of[rank] % 4);
  for (const auto& [unit, residues] : by_switch) EXPECT_EQ(residues.size(), 1u);  // multiples of 4 apart
  EXPECT_TRUE(groups(found, placement).contains({0, 16, 32, 48}));
}

TEST(Structure, CostsTheSameByPatternAndByTraffic) {
  const Traffic traffic = traffic_of(Operation::allgather, "recursive_doubling", 32);
  const Placement placement = on_nodes(32, 8, true);
  const Mapping found = map_by_structure(pattern_of(traffic), placement);
  const auto bandwidths = default_bandwidths(placement);
  EXPECT_EQ(cost_of(traffic, placement, found, bandwidths).amount,
            cost_of(pattern_of(traffic), placement, found, bandwidths).amount);
}

TEST(Partition, HasExactlyTheSizesAskedFor) {
  for (const std::vector<std::int32_t>& sizes :
       {std::vector{8, 8, 8, 8}, {1, 31}, {5, 9, 1, 17}, {32}, std::vector<std::int32_t>(32, 1), {7, 7, 7, 7, 4}}) {
    const Graph graph = random_graph(32, 5);
    Parts part_of = partition(graph, sizes);
    for (const Parts& found : {part_of, repaired(graph, Parts(32, 0), sizes)})
      for (std::size_t part = 0; part < sizes.size(); ++part) EXPECT_EQ(std::ranges::count(found, part), sizes[part]);
  }
}

TEST(Partition, FindsHiddenGroups) {
  constexpr int p = 60;
  std::vector<int> group(p);
  for (int v = 0; v < p; ++v) group[v] = v % 5 == 4 ? 4 : v % 4;  // 12 each of 0..3 less what group 4 takes
  std::vector<std::int32_t> sizes(5, 0);
  for (const int g : group) ++sizes[g];
  const Graph graph = graph_of(mapping::traffic_of(p, [&](int rank) {
    Row row;
    for (int peer = 0; peer < p; ++peer)
      if (peer != rank) row.emplace_back(peer, group[peer] == group[rank] ? 10 : 1);
    return row;
  }));
  EXPECT_EQ(cut(graph, partition(graph, sizes)), cut(graph, Parts(group.begin(), group.end())));
}

TEST(Partition, OfIrregularTrafficIsBetterThanConsecutiveRanks) {
  const Algorithm& neighbors = *find_algorithm(Operation::neighbor_alltoall, "linear");
  const Traffic torus = mapping::traffic_of(neighbors, {.operation = Operation::neighbor_alltoall, .p = 64});
  const Placement placement = on_nodes(64, 8);
  const auto bandwidths = default_bandwidths(placement);
  const double before = cost_of(torus, placement, identity(64), bandwidths).time;
  EXPECT_LT(cost_of(torus, placement, map_by_graph(graph_of(torus), placement), bandwidths).time, before);
}

TEST(Mapping, KeepsTheRootWhereItIs) {
  for (const char* name : {"knomial", "binary", "linear"})
    for (const int root : {0, 3, 19}) {
      Placement placement = on_nodes(20, 5, true);
      placement.levels[0].unit = {0, 1, 2, 0, 0, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3};
      const Graph graph = graph_of(traffic_of(Operation::bcast, name, 20, root));
      const Mapping found = map_by_graph(graph, placement, {root});
      EXPECT_EQ(found.virtual_of[root], root);
      EXPECT_EQ(mapping_of(found.virtual_of), found);
    }
}

TEST(Mapping, GroupsFollowEachOtherAsNodesDo) {
  const Placement placement = on_nodes(64, 4, true);
  const Graph graph = graph_of(traffic_of(Operation::allgather, "kring", 64));
  const Mapping found = map_by_graph(graph, placement);
  for (int v = 0; v < 64; ++v) EXPECT_EQ(placement.levels[0].unit[found.real_of[v]], v / 4) << v;
}

Answer chosen(Operation operation, const char* name, const Placement& placement, Method method = Method::automatic) {
  return choose({.algorithm = find_algorithm(operation, name),
                 .problem = {.operation = operation, .p = placement.p},
                 .placement = &placement,
                 .bandwidths = default_bandwidths(placement),
                 .method = method});
}

TEST(Choose, LeavesRanksAloneThatLieWell) {
  EXPECT_EQ(chosen(Operation::allgather, "ring", on_nodes(16, 4)).method, "none");
  EXPECT_EQ(chosen(Operation::allgather, "bruck", on_nodes(16, 4, true)).method, "none");
  EXPECT_TRUE(chosen(Operation::allgather, "ring", on_nodes(16, 4)).mapping.identity());
  EXPECT_EQ(chosen(Operation::allgather, "ring", on_nodes(16, 4, true)).method, "structure");
  EXPECT_THROW(chosen(Operation::bcast, "knomial", on_nodes(16, 4), Method::structure), std::invalid_argument);
}

TEST(Choose, TakesTheCheaperWay) {
  // Bruck's heaviest edges make triangles of 48 ranks, of which a tile of eight has none.
  EXPECT_EQ(chosen(Operation::allgather, "bruck", on_nodes(48, 8)).method, "general");
  EXPECT_EQ(chosen(Operation::allgather, "bruck", on_nodes(48, 6)).method, "structure");
}

TEST(Choose, NeverCostsMoreThanBefore) {
  for (const Algorithm* algorithm : catalogue())
    for (const bool cyclic : {false, true}) {
      if (!why_not(*algorithm, {.operation = algorithm->operation, .p = 16}, true).empty()) continue;
      const Answer answer = chosen(algorithm->operation, algorithm->name, on_nodes(16, 4, cyclic));
      EXPECT_LE(answer.after.time, answer.before.time) << algorithm->name;
    }
}

}  // namespace
}  // namespace omnes::mapping
