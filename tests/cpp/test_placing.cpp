// From what ranks say of themselves to placements and groups: what is used, what is left out and why.
#include "topology/placing.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "topology/described.hpp"
#include "topology/groups.hpp"
#include "topology/quota.hpp"

namespace omnes {
namespace {

namespace fs = std::filesystem;
using Groups = std::vector<std::vector<int>>;

std::vector<int> run(int first, int count) {
  std::vector<int> cpus(static_cast<std::size_t>(count));
  std::iota(cpus.begin(), cpus.end(), first);
  return cpus;
}

Level parts(const char* name, int cpus, int each) {
  Level level{name, 0, {}};
  for (int first = 0; first < cpus; first += each) level.groups.push_back(run(first, each));
  return level;
}

/// Levels as name and CPUs in a part, the widest first.
Machine machine(int cpus, std::vector<std::pair<const char*, int>> levels) {
  Machine made{run(0, cpus), {}};
  for (const auto& [name, each] : levels) made.levels.push_back(parts(name, cpus, each));
  return made;
}

/// "numa node switch"
std::string names(const Placed& placed) {
  std::string text;
  for (const PlacementLevel& level : placed.placement.levels) text += (text.empty() ? "" : " ") + level.name;
  return text;
}

/// Why a level is left out: "declined: not bound to one: rank 0".
std::string why(const Placed& placed, const std::string& level) {
  for (const LeftOut& one : placed.left_out)
    if (one.level == level) return std::string(name(one.kind)) + ": " + one.why;
  return "used";
}

Groups groups(const std::vector<GroupLevel>& levels, std::size_t level) {
  Groups all;
  for (std::size_t i = 0; i < levels.at(level).count(); ++i)
    all.emplace_back(levels[level].group(i).begin(), levels[level].group(i).end());
  return all;
}

const Machine two_sockets = machine(36, {{"node", 36}, {"socket", 18}, {"numa", 18}, {"core", 1}});

TEST(Groups, ArePapersFor108Processes) {
  Network network{"", 1, {}};
  for (int node = 1; node <= 64; ++node)
    network.switches[(node < 10 ? "node0" : "node") + std::to_string(node)] = {"sw1" +
                                                                               std::to_string(1 + (node - 1) / 16)};
  const Placed placed = described(read_ranks("node[01-02,48]x36", &two_sockets), &two_sockets, &network);
  EXPECT_EQ(names(placed), "numa node switch");
  EXPECT_EQ(why(placed, "socket"), "inactive: the same as numa");
  const std::vector<GroupLevel> levels = groups_of(placed.placement);
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_EQ(groups(levels, 0), Groups({run(0, 18), run(18, 18), run(36, 18), run(54, 18), run(72, 18), run(90, 18)}));
  EXPECT_EQ(groups(levels, 1), Groups({{0, 18}, {36, 54}, {72, 90}}));
  EXPECT_EQ(groups(levels, 2), Groups({{0, 36}, {72}}));
  EXPECT_EQ(groups(levels, 3), Groups({{0, 72}}));
  EXPECT_EQ(levels[3].name, "all");
}

TEST(Groups, AreRightFor8192RanksOnSixLevels) {
  // 2 ranks on a unit of the lowest level, 4 units on each wider one.
  Placement placement{8192, {}};
  for (int level = 0, size = 2; level < 6; ++level, size *= 4) {
    placement.levels.push_back({"level" + std::to_string(level), {}});
    for (int rank = 0; rank < 8192; ++rank) placement.levels.back().unit.push_back(1'000'000 - rank / size);
  }
  const std::vector<GroupLevel> levels = groups_of(placement);
  ASSERT_EQ(levels.size(), 7u);
  int step = 1;
  for (const GroupLevel& level : levels) {
    const int size = step == 1 ? 2 : 4;
    for (std::size_t i = 0; i < level.count(); ++i)
      for (std::size_t j = 0; j < level.group(i).size(); ++j)
        ASSERT_EQ(level.group(i)[j], (static_cast<int>(i) * size + static_cast<int>(j)) * step) << level.name;
    ASSERT_EQ(level.ranks.size(), 8192u / step) << level.name;
    step *= size;
  }
}

TEST(Groups, OfScatteredRanksAreLedByTheLowest) {
  const std::vector<GroupLevel> levels =
      groups_of(described(read_ranks("3,1,2 cyclic", nullptr), nullptr, nullptr).placement);
  EXPECT_EQ(groups(levels, 0), Groups({{0, 3, 5}, {1}, {2, 4}}));
  EXPECT_EQ(groups(levels, 1), Groups({{0, 1, 2}}));
}

TEST(Groups, WithoutLevelsAreOne) {
  EXPECT_EQ(groups(groups_of({3, {}}), 0), Groups({{0, 1, 2}}));
  EXPECT_EQ(groups(groups_of({1, {}}), 0), Groups({{0}}));
}

TEST(Placing, DeclinesWhatUnboundRanksDoNotKnow) {
  std::vector<Site> ranks = read_ranks("2x4", &two_sockets);
  ranks[5].cpus = run(0, 36);
  ranks[7].cpus.clear();
  const Placed placed = described(ranks, &two_sockets, nullptr);
  EXPECT_EQ(names(placed), "node");
  EXPECT_EQ(why(placed, "numa"), "declined: not bound to one: rank 5 and 1 more");
  EXPECT_EQ(why(placed, "l3"), "absent: there is none");
}

TEST(Placing, TakesRanksBoundToAllOfAUnit) {
  std::vector<Site> ranks = read_ranks("1x4", &two_sockets);
  for (int rank = 0; rank < 4; ++rank) ranks[static_cast<std::size_t>(rank)].cpus = run(rank / 2 * 18, 18);
  const Placed placed = described(ranks, &two_sockets, nullptr);
  EXPECT_EQ(names(placed), "numa");
  EXPECT_EQ(why(placed, "core"), "declined: not bound to one: rank 0 and 3 more");
  EXPECT_EQ(why(placed, "node"), "inactive: all ranks share one");
}

TEST(Placing, LeavesOutWhatTellsNothing) {
  const Placed placed = described(read_ranks("4x1", &two_sockets), &two_sockets, nullptr);
  EXPECT_EQ(names(placed), "");
  EXPECT_EQ(why(placed, "node"), "inactive: no two ranks share one");
  EXPECT_EQ(why(placed, "switch"), "absent: there is none");
  EXPECT_EQ(names(described(read_ranks("1x1", &two_sockets), &two_sockets, nullptr)), "");
}

TEST(Placing, UsesOnlyWantedLevels) {
  const Placed placed = described(read_ranks("2x36", &two_sockets), &two_sockets, nullptr, parse_levels("socket,l3"));
  EXPECT_EQ(names(placed), "socket");
  EXPECT_EQ(why(placed, "numa"), "off: switched off");
}

TEST(Placing, OrdersLevelsByWhatLiesInWhat) {
  const Machine memories_in_caches = machine(8, {{"node", 8}, {"l3", 4}, {"numa", 2}, {"core", 1}});
  const Machine caches_in_memories = machine(8, {{"node", 8}, {"numa", 4}, {"l3", 2}, {"core", 1}});
  const auto order = [](const Machine& on) { return names(described(read_ranks("2x8", &on), &on, nullptr)); };
  EXPECT_EQ(order(memories_in_caches), "numa l3 node");
  EXPECT_EQ(order(caches_in_memories), "l3 numa node");
}

TEST(Placing, DeclinesLevelsThatCross) {
  Machine odd = machine(8, {{"node", 8}, {"socket", 4}, {"core", 1}});
  odd.levels.push_back({"l3", 0, {{0, 1}, {2, 3, 4, 5}, {6, 7}}});
  const Placed placed = described(read_ranks("1x8", &odd), &odd, nullptr);
  EXPECT_EQ(names(placed), "socket");
  EXPECT_EQ(why(placed, "l3"), "declined: crosses socket");
}

TEST(Placing, DeclinesWhatSomeRanksDoNotHave) {
  Machine hybrid = machine(4, {{"node", 4}, {"core", 1}});
  hybrid.levels.push_back({"l3", 0, {{0, 1, 2}}});
  EXPECT_EQ(why(described(read_ranks("2x4", &hybrid), &hybrid, nullptr), "l3"),
            "declined: without one: rank 3 and 1 more");
  EXPECT_EQ(names(described(read_ranks("2x3", &hybrid), &hybrid, nullptr)), "node");
}

TEST(Placing, TakesTheNearestMemory) {
  Machine expanded = machine(4, {{"node", 4}, {"core", 1}});
  expanded.levels.push_back({"numa", 0, {{0, 1, 2, 3}, {0, 1}, {}, {2, 3}, {2, 3}}});
  const Placed placed = described(read_ranks("1x4", &expanded), &expanded, nullptr);
  EXPECT_EQ(placed.placement.levels.at(0).unit, std::vector<std::int32_t>({0, 0, 1, 1}));
  EXPECT_EQ(why(described(read_ranks("1x4 unbound", &expanded), &expanded, nullptr), "numa"),
            "declined: not bound to one: rank 0 and 3 more");
}

TEST(Placing, DeclinesSwitchesOfNodesThatAreNotListed) {
  const Network network{"", 1, {{"n1", {"s1"}}, {"n2", {"s1"}}, {"n3", {"s2"}}}};
  EXPECT_EQ(names(described(read_ranks("n[1-3]x2", nullptr), nullptr, &network)), "node switch");
  EXPECT_EQ(why(described(read_ranks("n[1-4]x2", nullptr), nullptr, &network), "switch"),
            "declined: on a node that the network's file does not name: rank 6 and 1 more");
}

TEST(Placing, DistinguishesEqualUnitsOfDifferentNodes) {
  const Placed placed = described(read_ranks("2x36", &two_sockets), &two_sockets, nullptr);
  EXPECT_EQ(placed.placement.level_between(0, 17), 0u);
  EXPECT_EQ(placed.placement.level_between(0, 18), 1u);
  EXPECT_EQ(placed.placement.level_between(0, 36), 2u);
}

/// A folder like Linux's /sys/devices/system, gone at the end.
class System {
 public:
  System() : root_(fs::temp_directory_path() / ("omnes-system-" + std::to_string(getpid()))) {}
  ~System() { fs::remove_all(root_); }
  std::string root() const { return root_; }
  void write(const std::string& file, const std::string& line) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << line << '\n';
  }

 private:
  fs::path root_;
};

TEST(CpuQuota, IsThatOfTheTightestGroup) {
  const System system;
  EXPECT_EQ(cpu_quota(system.root()), std::nullopt);
  system.write("proc/self/cgroup", "0::/pods/one");
  system.write("sys/fs/cgroup/pods/cpu.max", "400000 100000");
  system.write("sys/fs/cgroup/pods/one/cpu.max", "max 100000");
  EXPECT_EQ(cpu_quota(system.root()), 4.0);
  system.write("sys/fs/cgroup/pods/one/cpu.max", "75000 50000");
  EXPECT_EQ(cpu_quota(system.root()), 1.5);
  system.write("sys/fs/cgroup/cpu.max", "50000 100000");  // of a container that is told of another path
  EXPECT_EQ(cpu_quota(system.root()), 0.5);
}

TEST(CpuQuota, OfTheFirstVersionOfControlGroups) {
  const System system;
  system.write("proc/self/cgroup", "5:memory:/one\n4:cpu,cpuacct:/one/two\n1:name=cpu:/\n0::/");
  const std::string group = "sys/fs/cgroup/cpu,cpuacct/one/two/";
  system.write(group + "cpu.cfs_quota_us", "-1");
  system.write(group + "cpu.cfs_period_us", "100000");
  EXPECT_EQ(cpu_quota(system.root()), std::nullopt);
  system.write(group + "cpu.cfs_quota_us", "250000");
  EXPECT_EQ(cpu_quota(system.root()), 2.5);
}

TEST(CpuQuota, IsNoneWhereTheFilesAreOdd) {
  const System system;
  for (const char* const odd : {"", "::", "0::", "zero", "0::/one", "0::/../.."}) {
    system.write("proc/self/cgroup", odd);
    for (const char* const limit : {"", "max", "100000", "100000 0", "-1 100000", "much 100000"}) {
      system.write("sys/fs/cgroup/cpu.max", limit);
      EXPECT_EQ(cpu_quota(system.root()), std::nullopt) << odd << ", " << limit;
    }
  }
}

TEST(Whereabouts, ComeFromLinux) {
  const System system;
  const std::string cpu = "cpu/cpu6/";
  system.write(cpu + "topology/core_cpus_list", "6,14");
  system.write(cpu + "topology/package_cpus_list", "0-7,8-15");
  const char* caches[][3] = {{"1", "Data", "6,14"}, {"1", "Instruction", "6,14"}, {"2", "Unified", "6-7,14-15"}};
  for (int i = 0; i < 3; ++i) {
    const std::string index = cpu + "cache/index" + std::to_string(i) + "/";
    system.write(index + "level", caches[i][0]);
    system.write(index + "type", caches[i][1]);
    system.write(index + "shared_cpu_list", caches[i][2]);
  }
  system.write(cpu + "node1/cpulist", "not this one");
  system.write("node/node1/cpulist", "4-7,12-15");
  EXPECT_EQ(inner_units({6}, system.root()), InnerUnits({6, 6, no_unit, 4, 0}));
  EXPECT_EQ(inner_units({6, 15}, system.root()), InnerUnits({several_units, 6, no_unit, 4, 0}));
  EXPECT_EQ(inner_units({6, 8}, system.root()), InnerUnits({several_units, several_units, no_unit, several_units, 0}));
  fs::rename(fs::path(system.root()) / cpu / "topology/core_cpus_list",
             fs::path(system.root()) / cpu / "topology/thread_siblings_list");  // before Linux 5.3
  EXPECT_EQ(inner_units({6}, system.root())[0], 6);
  EXPECT_EQ(near_cpus(6, system.root()), (std::vector<int>{4, 5, 6, 7, 12, 13, 14, 15}));
  EXPECT_TRUE(near_cpus(5, system.root()).empty());
  const std::string l3 = cpu + "cache/index3/";
  system.write(l3 + "level", "3");
  system.write(l3 + "type", "Unified");
  system.write(l3 + "shared_cpu_list", "6-7");
  EXPECT_EQ(near_cpus(6, system.root()), (std::vector<int>{6, 7}));
  EXPECT_EQ(inner_units({5}, system.root()), InnerUnits({no_unit, no_unit, no_unit, no_unit, no_unit}));
}

TEST(Whereabouts, OfThisProcess) {
  const Network network{"", 1, {{"n1", {"s1"}}, {"n2", {"s1"}}}};
  const Whereabouts here = own_whereabouts("n1.example.org", &network);
  const Whereabouts there = own_whereabouts("n2.example.org", &network);
  EXPECT_EQ(here, whereabouts("n1.example.org", inner_units(own_cpus()), &network));
  EXPECT_NE(here.unit[node_level], there.unit[node_level]);
  EXPECT_EQ(here.unit[first_switch], there.unit[first_switch]);
  EXPECT_GE(here.unit[first_switch], Whereabouts::first_unit);
  EXPECT_EQ(own_whereabouts("n3", &network).unit[first_switch], Whereabouts::unlisted);
  EXPECT_EQ(own_whereabouts("n1", nullptr).unit[first_switch], Whereabouts::none);
}

}  // namespace
}  // namespace omnes
