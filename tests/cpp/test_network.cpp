// Files of networks, and the lists of names in them: what is read, and the one-line errors for what is wrong.
#include "topology/network.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "topology/file.hpp"
#include "topology/hostlist.hpp"
#include "topology/levels.hpp"

namespace omnes {
namespace {

using Names = std::vector<std::string>;

/// A file that is gone at the end.
class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("omnes-network-" + std::to_string(getpid()))) {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Network network(const std::string& text) {
  const TextFile file(text);
  return read_network(file.path());
}

std::string complaint(const std::function<void()>& does) {
  try {
    does();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

/// Without the folder that the file is in.
std::string complaint_about(const std::string& text) {
  const std::string full = complaint([&] { network(text); });
  const std::size_t at = full.find(std::to_string(getpid()));
  return at == full.npos ? full : full.substr(at + std::to_string(getpid()).size());
}

TEST(Hostlist, IsExpandedInOrder) {
  EXPECT_EQ(expand_hostlist("n1"), Names({"n1"}));
  EXPECT_EQ(expand_hostlist("n[08-11,3],login"), Names({"n08", "n09", "n10", "n11", "n3", "login"}));
  EXPECT_EQ(expand_hostlist("r[1-2]n[0-1]-ib"), Names({"r1n0-ib", "r1n1-ib", "r2n0-ib", "r2n1-ib"}));
  EXPECT_EQ(expand_hostlist("n[0-0]"), Names({"n0"}));
  EXPECT_EQ(expand_hostlist("n[099-101]"), Names({"n099", "n100", "n101"}));
}

TEST(Hostlist, TheLargestNumberIsTheEnd) {
  EXPECT_EQ(expand_hostlist("n[2147483646-2147483647]"), Names({"n2147483646", "n2147483647"}));
}

TEST(Hostlist, WrongOnesAreOneClearLine) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "an empty name in ''"},
      {"a,,b", "an empty name in 'a,,b'"},
      {"n[1-2", "a bracket without its other half in 'n[1-2'"},
      {"n1-2]", "a bracket without its other half in 'n1-2]'"},
      {"n[1[2]]", "a bracket without its other half in 'n[1[2]]'"},
      {"n[]", "'' is no number and no range such as 1-16"},
      {"n[1-]", "'1-' is no number and no range such as 1-16"},
      {"n[-1]", "'-1' is no number and no range such as 1-16"},
      {"n[a-b]", "'a-b' is no number and no range such as 1-16"},
      {"n[5-3]", "'5-3' ends before it starts"},
      {"n[1-99999999]", "'n[1-99999999]' has more than 1048576 names"},
      {"a[1-600000],b[1-600000]", "'a[1-600000],b[1-600000]' has more than 1048576 names"},
      {"n[1-1000][1-1000][1-1000][1-1000][1-1000][1-1000][1-1000]",
       "'n[1-1000][1-1000][1-1000][1-1000][1-1000][1-1000][1-1000]' has more than 1048576 names"},
      {"n[0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001-900000]",
       "'n[0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001-900000]': "
       "its "
       "names are longer than 64 MiB together"},
  };
  for (const auto& [list, expected] : cases) EXPECT_EQ(complaint([&] { expand_hostlist(list); }), expected) << list;
}

TEST(Cpus, AreListedAsLinuxListsThem) {
  EXPECT_EQ(parse_cpus("0-2,8"), std::vector<int>({0, 1, 2, 8}));
  EXPECT_EQ(parse_cpus("3,1-3"), std::vector<int>({1, 2, 3}));
  EXPECT_EQ(parse_cpus("65535,0"), std::vector<int>({0, 65535}));
  EXPECT_EQ(complaint([] { parse_cpus("0-9999999"); }), "no CPU 9999999; CPUs are below 65536");
}

TEST(Levels, AreNamed) {
  EXPECT_EQ(to_string(parse_levels("switch,numa,node")), "numa,node,switch");
  EXPECT_EQ(parse_levels(to_string(all_levels)), all_levels);
  for (const char* wrong : {"", "NUMA", "numa,", "numa;node", "switch5"})
    EXPECT_TRUE(complaint([&] { parse_levels(wrong); }).starts_with("no level '")) << wrong;
  EXPECT_EQ(complaint([] { parse_levels("numa,nodes"); }),
            "no level 'nodes'; did you mean node? valid: core, l2, l3, numa, socket, node, switch, switch2, switch3, "
            "switch4, with commas between");
}

TEST(Network, OfTwoColumns) {
  const Network read = network("# <node-name> <switch-name>\n\nnode01 sw11  # the first\nnode02\tsw11\r\nnode17 sw12");
  EXPECT_EQ(read.levels, 1u);
  EXPECT_EQ(read.switches.size(), 3u);
  EXPECT_EQ(*read.of("node02"), Names({"sw11"}));
  EXPECT_EQ(*read.of("node17.cluster.example.org"), Names({"sw12"}));
  EXPECT_EQ(read.of("node03"), nullptr);
}

TEST(Network, OfWiderSwitchesAndLists) {
  const Network read = network("n[1-2] leaf1 spine\nn[3-4] leaf2 spine\nn5 leaf3 other\n");
  EXPECT_EQ(read.levels, 2u);
  EXPECT_EQ(*read.of("n4"), Names({"leaf2", "spine"}));
  EXPECT_EQ(*read.of("n5"), Names({"leaf3", "other"}));
}

TEST(Network, OfSlurmsTree) {
  const Network read = network(
      "switchname=top SWITCHES=mid,s3\n"
      "SwitchName=mid Switches=s[1-2] LinkSpeed=100\n"
      "SwitchName=s1 Nodes=n[1-2] \\\n"
      "\n"
      "SwitchName=s2 \\\n Nodes=n[3-4]  # on two lines\n"
      "SwitchName=s3 Nodes=n5\n");
  EXPECT_EQ(read.levels, 3u);
  EXPECT_EQ(*read.of("n2"), Names({"s1", "mid", "top"}));
  EXPECT_EQ(*read.of("n3"), Names({"s2", "mid", "top"}));
  EXPECT_EQ(*read.of("n5"), Names({"s3", "s3", "top"}));  // nothing between: s3 is as wide as mid
}

TEST(Network, OfSlurmsBlocks) {
  const std::string blocks = "BlockName=b1 Nodes=n[01-18]\nBlockName=b2 Nodes=n[19-36]\nBlockName=b3 Nodes=n[37-54]\n";
  EXPECT_EQ(*network(blocks).of("n19"), Names({"b2"}));
  const Network wide = network(blocks + "BlockSizes=18,36\n");
  EXPECT_EQ(*wide.of("n01"), Names({"b1", "b1"}));
  EXPECT_EQ(*wide.of("n19"), Names({"b2", "b1"}));
  EXPECT_EQ(*wide.of("n54"), Names({"b3", "b3"}));
}

TEST(Network, BadFilesAreOneLineWithFileAndNumber) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"# nothing\n", ": nothing in it; expected lines '<node> <switch>' or Slurm's topology.conf"},
      {"n1 s1\n\nn2\n", ":3: 'n2' alone; expected '<node> <switch> [<wider switch>]'"},
      {"n1 s1\nn2 s1 t1\n", ":2: 2 switches; expected 1 as in the lines before"},
      {"n1 s1\nn1 s2\n", ":2: node 'n1' was there before"},
      {"n1 s1 t1\nn2 s1 t2\n", ":2: switch 's1' is below 't2' here, below 't1' before"},
      {"n[1-2 s1\n", ":1: a bracket without its other half in 'n[1-2'"},
      {"n1 a b c d e\n", ": 5 levels of switches; at most 4 can be used"},
      {"SwitchName=s1 Nodes\n", ":1: 'Nodes'; expected KEY=VALUE"},
      {"SwitchName=s1 Nodes=\n", ":1: 'Nodes='; expected KEY=VALUE"},
      {"SwitchName=s1 Nodes=n1 Nodes=n2\n", ":1: a second 'Nodes=n2'"},
      {"SwitchName=s1 Node=n1\n",
       ":1: 'Node=n1'; known are SwitchName, Switches, Nodes, LinkSpeed; BlockName, Nodes, BlockSizes"},
      {"SwitchName=s1\n", ":1: expected Nodes=LIST or Switches=LIST"},
      {"SwitchName=s1 Nodes=n1\nNodes=n2\n",
       ":2: expected 'SwitchName=NAME Nodes=LIST' or 'SwitchName=NAME Switches=LIST'"},
      {"SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2\n", ":2: switch 's1' was there before"},
      {"SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n1\n", ":2: node 'n1' is on a switch already"},
      {"SwitchName=s1 Nodes=n[2-1]\n", ":1: '2-1' ends before it starts"},
      {"SwitchName=t Switches=s1\n", ":1: no switch 's1' in this file"},
      {"SwitchName=s Nodes=n1\nSwitchName=t1 Switches=s\nSwitchName=t2 Switches=s\n",
       ":3: switch 's' is below 't1' already"},
      {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", ":1: switch 'a' is below itself"},
      {"BlockName=b1 Nodes=n1\nBlockName=b1 Nodes=n2\n", ":2: block 'b1' was there before"},
      {"BlockName=b1 Nodes=n1\nBlockName=b2 Nodes=n1\n", ":2: node 'n1' is in a block already"},
      {"BlockName=b1\n", ":1: expected 'BlockName=NAME Nodes=LIST' or 'BlockSizes=N,N'"},
      {"BlockName=b1 Nodes=n1\nBlockSizes=18,x\n", ":2: 'x' is no number of nodes; expected such as BlockSizes=18,36"},
      {"BlockName=b1 Nodes=n1\nBlockSizes=18,40\n", ":2: block size 40; expected multiples of the size before"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(complaint_about(text), expected) << text;
  EXPECT_EQ(complaint([] { read_network("/nowhere/at/all"); }), "/nowhere/at/all: No such file or directory");
  EXPECT_EQ(complaint([] { read_network("/"); }), "/: Is a directory");
  EXPECT_EQ(complaint([] { read_network("/dev/zero"); }), "/dev/zero: not a regular file");
}

TEST(Network, FewLinesDoNotMakeManyNodes) {
  std::string columns, switches, blocks, sizes = "BlockSizes=1";
  for (const std::string name : {"a", "b"}) {
    columns += name + "[1-600000] s\n";
    switches += "SwitchName=s" + name + " Nodes=" + name + "[1-600000]\n";
    blocks += "BlockName=b" + name + " Nodes=" + name + "[1-600000]\n";
  }
  for (const std::string& text : {columns, switches, blocks})
    EXPECT_EQ(complaint_about(text), ":2: more than 1048576 nodes") << text;
  for (int i = 0; i < 1000; ++i) sizes += ",1";
  EXPECT_EQ(complaint_about("BlockName=b Nodes=n\n" + sizes), ": 1001 levels of switches; at most 4 can be used");
  std::string chain = "SwitchName=s0 Nodes=n\n";
  for (int i = 1; i <= 100; ++i)
    chain += "SwitchName=s" + std::to_string(i) + " Switches=s" + std::to_string(i - 1) + "\n";
  EXPECT_EQ(complaint_about(chain), ":1: switch 's0' is below more than 64");
}

TEST(Toml, IsReadInAscii) { EXPECT_EQ(in_ascii("\xEF\xBB\xBFkey = 1 # \xc3\xa9"), "key = 1 # ??"); }

TEST(OneLine, IsOne) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[1m"), "a\\nb\\x09c\\x1b[1m");
  EXPECT_EQ(one_line("\xc2\xb5s"), "\xc2\xb5s");
  EXPECT_LT(one_line(std::string(100000, 'x')).size(), 2000u);
  EXPECT_EQ(one_line(std::string(1600, 'x')), std::string(1600, 'x'));
}

TEST(Network, IsTheWantedFile) { EXPECT_EQ(network_file("mine.conf"), "mine.conf"); }

}  // namespace
}  // namespace omnes
