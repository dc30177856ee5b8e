// All OMNES_ variables: what is read, and the one-line errors for what is wrong.
#include "select/settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace omnes {
namespace {

Settings read(std::vector<const char*> variables) {
  variables.push_back(nullptr);
  return Settings::from(variables.data());
}

std::string complaint(const char* variable) {
  try {
    read({variable});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Settings, HaveDefaults) {
  const Settings settings = read({"PATH=/bin", "OMNES", "HOME=/", "NOT_OMNES_SLOTS=3"});
  EXPECT_EQ(settings.transport, Transport::automatic);
  EXPECT_EQ(settings.heap, HeapUse::automatic);
  EXPECT_EQ(settings.wait, Wait::automatic);
  EXPECT_EQ(settings.fake_nodes, 1);
  for (const auto& [ranks, slots] : {std::pair(2, 8), {4, 8}, {8, 16}, {16, 32}, {32, 32}, {64, 16}, {512, 8}})
    for (const bool fast_caches : {true, false}) {
      EXPECT_EQ(settings.shared_memory.slots_for({.ranks = ranks, .own_cpus = false, .fast_caches = fast_caches}),
                slots);
      EXPECT_EQ(settings.shared_memory.slots_for({.ranks = ranks, .own_cpus = fast_caches, .fast_caches = false}),
                slots);
    }
  for (const auto& [ranks, slots] : {std::pair(2, 64), {16, 64}, {32, 32}, {64, 16}, {512, 8}})
    EXPECT_EQ(settings.shared_memory.slots_for({.ranks = ranks, .fast_caches = true}), slots);
  for (const shm::Sharing& others : {shm::Sharing{.own_cpus = false, .fast_caches = true}, {.fast_caches = false}})
    EXPECT_LT(settings.shared_memory.direct_copy_from({.fast_caches = true}),
              settings.shared_memory.direct_copy_from(others));
  EXPECT_EQ(settings.shared_memory.slot_bytes, 32u << 10);
  EXPECT_EQ(shm::Policy::adopt_from({.fast_caches = true}), 256u << 10);
  EXPECT_EQ(shm::Policy::adopt_from({.own_cpus = false, .fast_caches = false}), 64u << 10);
  EXPECT_EQ(shm::Policy::adopt_from({.fast_caches = false}), 32u << 10);
  EXPECT_EQ(settings.shared_memory.single_copy_from({.fast_caches = true}), shm::never);
  for (const shm::Sharing& others :
       {shm::Sharing{.own_cpus = false}, {.blocking = false}, {.ranks = 9}, {.fast_caches = false}})
    EXPECT_EQ(settings.shared_memory.single_copy_from(others), 96u * 1024);
  EXPECT_EQ(settings.check, Check::off);
  EXPECT_EQ(settings.check_timeout, 30);
  EXPECT_EQ(settings.levels, all_levels);
  EXPECT_EQ(settings.remap, Remap::automatic);
  EXPECT_FALSE(settings.stats || settings.table || settings.machine || settings.topology || settings.off ||
               settings.reproducible || settings.async);
  for (int i = 0; i < operation_count; ++i) EXPECT_FALSE(settings.forced[i] || settings.forced_not_blocking[i]);
}

TEST(Settings, AreRead) {
  const Settings settings =
      read({"OMNES_TRANSPORT=mpi", "OMNES_WAIT=yield", "OMNES_FAKE_NODES=3", "OMNES_SLOTS=2", "OMNES_SLOT_BYTES=4K",
            "OMNES_SINGLE_COPY=1M", "OMNES_STATS=/tmp/a=b", "OMNES_OFF=1", "OMNES_REPRODUCIBLE=1", "OMNES_ASYNC=1",
            "OMNES_LEVELS=numa,node", "OMNES_REMAP=exch", "OMNES_TOPOLOGY=/etc/nodes",
            "OMNES_BCAST=knomial:k=4,segment=16K", "OMNES_CHECK=results", "OMNES_CHECK_TIMEOUT=5"});
  EXPECT_EQ(settings.check, Check::results);
  EXPECT_EQ(settings.check_timeout, 5);
  EXPECT_EQ(read({"OMNES_CHECK=1"}).check, Check::calls);
  EXPECT_EQ(read({"OMNES_CHECK=0"}).check, Check::off);
  EXPECT_EQ(settings.transport, Transport::mpi);
  EXPECT_EQ(settings.wait, Wait::yield);
  EXPECT_EQ(settings.fake_nodes, 3);
  EXPECT_EQ(settings.shared_memory.slots_for({.ranks = 8}), 2);
  EXPECT_EQ(settings.shared_memory.slot_bytes, 4096u);
  EXPECT_EQ(settings.shared_memory.single_copy, 1u << 20);
  EXPECT_EQ(settings.stats, "/tmp/a=b");
  EXPECT_EQ(to_string(settings.levels), "numa,node");
  EXPECT_EQ(settings.remap, Remap::exchange);
  EXPECT_EQ(settings.topology, "/etc/nodes");
  EXPECT_TRUE(settings.off && settings.reproducible && settings.async);
  EXPECT_EQ(to_string(settings.forced[static_cast<int>(Operation::bcast)].value()), "knomial:k=4,segment=16K");
  EXPECT_EQ(read({"OMNES_SINGLE_COPY=off"}).shared_memory.single_copy_from({.own_cpus = false}), shm::never);
}

TEST(Settings, ForceTheFormsThatDoNotBlockApart) {
  const Settings settings = read({"OMNES_IBCAST=chain:segment=1K", "OMNES_BCAST=linear", "OMNES_IALLTOALLW=flat"});
  const auto at = [](const auto& forced, Operation operation) {
    const auto& choice = forced[static_cast<int>(operation)];
    return choice ? to_string(*choice) : "nothing";
  };
  EXPECT_EQ(at(settings.forced, Operation::bcast), "linear");
  EXPECT_EQ(at(settings.forced_not_blocking, Operation::bcast), "chain:segment=1K");
  EXPECT_EQ(at(settings.forced, Operation::alltoallw), "nothing");
  EXPECT_EQ(at(settings.forced_not_blocking, Operation::alltoallw), "linear");
}

// Sets variables of this process, and unsets them again.
struct Environment {
  explicit Environment(std::vector<std::pair<const char*, std::string>> given) : variables(std::move(given)) {
    for (const auto& [name, value] : variables) setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables) unsetenv(name);
  }
  std::vector<std::pair<const char*, std::string>> variables;
};

TEST(Settings, FindTheUsersTableAndMachine) {
  const std::filesystem::path home = std::filesystem::temp_directory_path() / ("omnes-" + std::to_string(getpid()));
  const std::filesystem::path own = home / ".config/omnes/table.toml", other = home / "other/omnes/table.toml";
  for (const auto& file : {own, other}) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << '#' << file.string();
    std::ofstream(file.parent_path() / "machine.toml") << "machine";
  }
  const auto found = [](std::vector<std::pair<const char*, std::string>> variables) {
    const Environment environment(std::move(variables));
    const Settings settings = Settings::from_environment();
    return settings.table ? settings.table->text.substr(1) : "none";
  };
  EXPECT_EQ(found({{"HOME", home}}), own);
  EXPECT_EQ(found({{"HOME", home}, {"XDG_CONFIG_HOME", "not/absolute"}}), own);
  EXPECT_EQ(found({{"HOME", home}, {"XDG_CONFIG_HOME", home / "other"}}), other);
  EXPECT_EQ(found({{"HOME", home}, {"XDG_CONFIG_HOME", home / "nothing"}}), "none");
  EXPECT_EQ(found({{"HOME", home}, {"OMNES_TABLE", other}}), other);
  EXPECT_EQ(found({{"HOME", home}, {"OMNES_TABLE", "off"}}), "none");
  EXPECT_EQ(found({{"HOME", home / "other"}}), "none");
  const auto machine = [](std::vector<std::pair<const char*, std::string>> variables) {
    const Environment environment(std::move(variables));
    const Settings settings = Settings::from_environment();
    return (settings.machine ? settings.machine->text : "none") + (settings.machine_is_named ? ", named" : "");
  };
  EXPECT_EQ(machine({{"HOME", home}}), "machine");
  EXPECT_EQ(machine({{"HOME", home / "nothing"}, {"OMNES_MACHINE", own}}), "#" + own.string() + ", named");
  EXPECT_EQ(machine({{"HOME", home}, {"OMNES_MACHINE", "off"}}), "none, named");
  std::filesystem::remove_all(home);
}

TEST(Settings, TablesHaveSomeWhereTheEnvironmentHasNone) {
  const std::string file = std::filesystem::temp_directory_path() / ("omnes-" + std::to_string(getpid()) + ".toml");
  const auto with = [&](const std::string& text, const char* variable = "OMNES_OFF=0") {
    std::ofstream(file) << text;
    const std::string table = "OMNES_TABLE=" + file;
    const char* const variables[] = {variable, table.c_str(), nullptr};
    return Settings::from(variables);
  };
  const Settings some = with("bcast = []\n[settings]\nslots = 4\nsingle_copy = 'off'\ndirect_copy = '16K'\n");
  EXPECT_EQ(some.shared_memory.slots, 4);
  EXPECT_EQ(some.shared_memory.single_copy, shm::never);
  EXPECT_EQ(some.shared_memory.direct_copy, 16u << 10);
  EXPECT_EQ(some.shared_memory.slot_bytes, shm::Policy().slot_bytes);
  EXPECT_EQ(with("settings = { slots = 4, slot_bytes = 128 }", "OMNES_SLOTS=16").shared_memory.slots, 16);
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"\n[settings]\nslot = 4",
       ": line 3: settings, slot: no such entry; did you mean slots? valid: direct_copy, single_copy, slots, "
       "slot_bytes"},
      {"[settings]\nslots = 1", ": line 2: settings, slots: \"1\" is not valid; valid: a whole number 2 to 64"},
      {"[settings]\nslots = true", ": line 2: settings, slots: valid: a number, or a word such as \"16K\""},
      {"settings = 4", ": line 1: settings: valid: a table, [settings]"},
  };
  for (const auto& [text, complaint] : wrong) {
    try {
      with(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(), file + complaint);
    }
  }
  std::filesystem::remove(file);
}

TEST(Settings, AreNamedAfterTheirOperation) {
  EXPECT_EQ(variable_of(Operation::reduce_scatter_block), "OMNES_REDUCE_SCATTER_BLOCK");
  EXPECT_EQ(variable_of(Operation::reduce_scatter_block, false), "OMNES_IREDUCE_SCATTER_BLOCK");
}

TEST(Settings, WrongOnesAreOneClearLine) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"OMNES_TRANSPORT=tcp", "OMNES_TRANSPORT: \"tcp\" is not valid; valid: auto, mpi"},
      {"OMNES_TABLE=",
       "OMNES_TABLE: cannot read \"\" (No such file or directory); valid: a file of rules, as omnes tune writes, or "
       "off"},
      {"OMNES_TABLE=/",
       "OMNES_TABLE: cannot read \"/\" (Is a directory); valid: a file of rules, as omnes tune writes, or off"},
      {"OMNES_MACHINE=/",
       "OMNES_MACHINE: cannot read \"/\" (Is a directory); valid: a machine file, as omnes measure writes, or off"},
      {"OMNES_TABLE=/dev/zero",
       "OMNES_TABLE: cannot read \"/dev/zero\" (not a regular file); valid: a file of rules, as omnes tune writes, or "
       "off"},
      {"OMNES_MACHINE=/dev/zero",
       "OMNES_MACHINE: cannot read \"/dev/zero\" (not a regular file); valid: a machine file, as omnes measure writes, "
       "or off"},
      {"OMNES_TOPOLOGY=", "OMNES_TOPOLOGY: \"\" is not valid; valid: a file of nodes and their switches"},
      {"OMNES_LEVELS=numa,nodes",
       "OMNES_LEVELS: no level 'nodes'; did you mean node? valid: core, l2, l3, numa, socket, node, switch, switch2, "
       "switch3, switch4, with commas between"},
      {"OMNES_WAIT=a\xFFz", "OMNES_WAIT: \"a\\xffz\" is not valid; valid: auto, spin, yield"},
      {"OMNES_SLOTS=\xE2\x82", "OMNES_SLOTS: \"\\xe2\\x82\" is not valid; valid: a whole number 2 to 64"},
      {"OMNES_SLOTS=\u00e9\xED\xA0\x80",
       "OMNES_SLOTS: \"\u00e9\\xed\\xa0\\x80\" is not valid; valid: a whole number 2 to 64"},
      {"OMNES_WAIT=a\nb", "OMNES_WAIT: \"a\\nb\" is not valid; valid: auto, spin, yield"},
      {"OMNES_TABLE=/\xFF",
       "OMNES_TABLE: cannot read \"/\\xff\" (No such file or directory); valid: a file of rules, as omnes tune writes, "
       "or off"},
      {"OMNES_WAIT=", "OMNES_WAIT: \"\" is not valid; valid: auto, spin, yield"},
      {"OMNES_REMAP=on", "OMNES_REMAP: \"on\" is not valid; valid: off, exch, reorder, auto"},
      {"OMNES_OFF=yes", "OMNES_OFF: \"yes\" is not valid; valid: 0, 1"},
      {"OMNES_REPRODUCIBLE=2", "OMNES_REPRODUCIBLE: \"2\" is not valid; valid: 0, 1"},
      {"OMNES_HEAP=shraed",
       "OMNES_HEAP: \"shraed\" is not valid; did you mean shared? valid: off, alloc_mem, auto, shared"},
      {"OMNES_HEAP=on", "OMNES_HEAP: \"on\" is not valid; valid: off, alloc_mem, auto, shared"},
      {"OMNES_FAKE_NODES=0", "OMNES_FAKE_NODES: \"0\" is not valid; valid: a whole number 1 to 1048576"},
      {"OMNES_SLOTS=1", "OMNES_SLOTS: \"1\" is not valid; valid: a whole number 2 to 64"},
      {"OMNES_SLOTS=8x", "OMNES_SLOTS: \"8x\" is not valid; valid: a whole number 2 to 64"},
      {"OMNES_SLOT_BYTES=32", "OMNES_SLOT_BYTES: \"32\" is not valid; valid: multiples of 64 up to 64M bytes"},
      {"OMNES_SLOT_BYTES=100", "OMNES_SLOT_BYTES: \"100\" is not valid; valid: multiples of 64 up to 64M bytes"},
      {"OMNES_SLOT_BYTES=8Q",
       "OMNES_SLOT_BYTES: \"8Q\" is not a number of bytes; valid: digits, and K, M or G for their powers of 1024"},
      {"OMNES_SINGLE_COPY=never",
       "OMNES_SINGLE_COPY: \"never\" is not a number of bytes; valid: digits, and K, M or G for their powers of 1024;"
       " or off"},
      {"OMNES_STATS=", "OMNES_STATS: \"\" is not valid; valid: a folder"},
      {"OMNES_SCATTERV=knomail", "OMNES_SCATTERV: no algorithm \"knomail\" for scatterv; valid: linear, model, host"},
      {"OMNES_SCATTERV=hots", "OMNES_SCATTERV: no algorithm \"hots\" for scatterv; valid: linear, model, host"},
      {"OMNES_SCATTERV=hst",
       "OMNES_SCATTERV: no algorithm \"hst\" for scatterv; did you mean host? valid: linear, model, host"},
      {"OMNES_ISCATTERV=hst", "OMNES_ISCATTERV: no algorithm \"hst\" for scatterv; valid: linear, model"},
      {"OMNES_ASYNC=yes", "OMNES_ASYNC: \"yes\" is not valid; valid: 0, 1"},
      {"OMNES_ISCATTERV=knomail", "OMNES_ISCATTERV: no algorithm \"knomail\" for scatterv; valid: linear, model"},
  };
  for (const auto& [variable, wanted] : cases) EXPECT_EQ(complaint(variable), wanted);
}

TEST(Settings, UnknownNamesAreIgnoredWithAWord) {
  const auto ignored = [](const char* variable) {
    const std::vector<std::string> lines = read({"OMNES_OFF=1", variable, "OMNES_SLOTS=4"}).ignored;
    return lines.empty() ? "nothing" : lines.front();
  };
  for (const char* reserved : {"ROOT", "HOME", "DIR", "VERSION", "PREFIX"})
    EXPECT_EQ(ignored(("OMNES_" + std::string(reserved) + "=/opt/omnes/1.0").c_str()), "nothing");
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"OMNES_BCAST=linear", "nothing"},
      {"OMNES_ALLREDUCEE=ring",
       "OMNES_ALLREDUCEE is ignored: there is no such variable; did you mean OMNES_ALLREDUCE?"},
      {"OMNES_TRANPSORT=x", "OMNES_TRANPSORT is ignored: there is no such variable; did you mean OMNES_TRANSPORT?"},
      {"OMNES_bcast=linear", "OMNES_bcast is ignored: there is no such variable; did you mean OMNES_BCAST?"},
      {"OMNES_IBCATS=linear", "OMNES_IBCATS is ignored: there is no such variable; did you mean OMNES_IBCAST?"},
      {"OMNES_LIBRARIES=/opt", "OMNES_LIBRARIES is ignored: there is no such variable"},
      {"OMNES_=1", "OMNES_ is ignored: there is no such variable"},
      {"OMNES_A\nB=1", "OMNES_A?B is ignored: there is no such variable"},
  };
  for (const auto& [variable, wanted] : cases) EXPECT_EQ(ignored(variable), wanted);
  EXPECT_EQ(ignored(("OMNES_" + std::string(5000, 'X') + "=1").c_str()).size(), 64 + 38);
}

TEST(Settings, KnowTheirNames) {
  for (const char* name : {"OMNES_OFF", "OMNES_BCAST", "OMNES_IALLTOALLW"}) EXPECT_TRUE(is_setting(name));
  for (const char* name : {"OMNES_ROOT", "OMNES_BCATS", "OFF", "OMNES_"}) EXPECT_FALSE(is_setting(name));
}

}  // namespace
}  // namespace omnes
