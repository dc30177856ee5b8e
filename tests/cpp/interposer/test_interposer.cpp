// The whole interposer on a host that does what MPI says, and on one whose messages are late.
#include <gtest/gtest.h>

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

}  // namespace
