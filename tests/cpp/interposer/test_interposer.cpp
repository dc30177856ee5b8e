// The whole interposer on a host that does what MPI says, and on one whose messages are late.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include "programs.hpp"

namespace {

using Variables = std::map<std::string, std::string>;

const std::map<std::string, Variables> transports = {
    {"shared", {}}, {"messages", {{"OMNES_TRANSPORT", "mpi"}}}, {"nodes", {{"OMNES_FAKE_NODES", "2"}}}};

class Programs : public testing::TestWithParam<std::tuple<programs::Program, std::string, int>> {
 protected:
  void (*program)() = std::get<0>(GetParam()).run;
  fake::Job job{.ranks = std::get<2>(GetParam()), .variables = transports.at(std::get<1>(GetParam()))};
};

TEST_P(Programs, GiveWhatTheHostGives) { EXPECT_EQ(fake::run(job, program).wrong, ""); }

TEST_P(Programs, AlsoWhenMessagesAreLate) {
  job.late = 5;
  job.eager = 64;
  EXPECT_EQ(fake::run(job, program).wrong, "");
}

TEST_P(Programs, AlsoWithoutAHook) {
  job.hook = false;
  EXPECT_EQ(fake::run(job, program).wrong, "");
}

TEST_P(Programs, AlsoWhereRequestsCannotBeLookedAt) {
  job.looks_at_requests = false;
  EXPECT_EQ(fake::run(job, program).wrong, "");
}

std::string name_of(const testing::TestParamInfo<Programs::ParamType>& info) {
  const auto& [program, transport, ranks] = info.param;
  return std::string(program.name) + "_" + transport + "_" + std::to_string(ranks);
}

INSTANTIATE_TEST_SUITE_P(All, Programs,
                         testing::Combine(testing::ValuesIn(programs::all),
                                          testing::Values("shared", "messages", "nodes"), testing::Values(1, 2, 3)),
                         name_of);

// What looks on: programs give the same, and find what was seen in a folder of theirs.
const std::map<std::string, Variables> onlookers = {{"checked", {{"OMNES_CHECK", "1"}}},
                                                    {"compared", {{"OMNES_CHECK", "results"}}},
                                                    {"reported", {{"OMNES_STATS", ""}}},
                                                    {"by_site", {{"OMNES_STATS", ""}, {"OMNES_STATS_SITES", "1"}}},
                                                    {"recorded", {{"OMNES_RECORD", ""}}}};

class Watched : public testing::TestWithParam<std::tuple<programs::Program, std::string>> {
 protected:
  void SetUp() override {
    for (auto& [name, value] : job.variables)
      if (value.empty()) value = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void (*program)() = std::get<0>(GetParam()).run;
  fake::Job job{.variables = onlookers.at(std::get<1>(GetParam()))};
  std::string pattern = testing::TempDir() + "omnes-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
};

TEST_P(Watched, GiveWhatTheHostGives) {
  EXPECT_EQ(fake::run(job, program).wrong, "");
  const auto files = std::distance(std::filesystem::directory_iterator(folder), {});
  EXPECT_EQ(files, job.variables.contains("OMNES_CHECK") ? 0 : job.ranks);
}

TEST_P(Watched, AlsoByMessages) {
  job.variables["OMNES_TRANSPORT"] = "mpi";
  EXPECT_EQ(fake::run(job, program).wrong, "");
}

INSTANTIATE_TEST_SUITE_P(All, Watched,
                         testing::Combine(testing::ValuesIn(programs::all),
                                          testing::Values("checked", "compared", "reported", "by_site", "recorded")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
                         });

}  // namespace
