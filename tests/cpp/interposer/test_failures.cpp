// Whatever fails, a call of the program says so, or does without: never a crash, a hang, a leak, or a wrong result.
//
// Each function of the host, each of the system and each allocation fails in turn, once, on one rank, in programs that use
// all operations in all forms. How often a program comes to each place a first run tells. With FULL_TESTS=1 each time that
// it comes there is tried, else the first times, the last, and some between.
#include <gtest/gtest.h>

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "programs.hpp"

namespace {

const bool full = std::getenv("FULL_TESTS") != nullptr;

std::set<long> numbers(long count, long some) {
  std::set<long> chosen{1, count};
  const long step = full ? 1 : std::max(1L, count / some);
  for (long number = 1; number <= count; number += step) chosen.insert(number);
  return chosen;
}

struct Transport {
  const char* name;
  std::map<std::string, std::string> variables;
};
const Transport transports[] = {
    {"shared", {}}, {"messages", {{"OMNES_TRANSPORT", "mpi"}}}, {"thread", {{"OMNES_ASYNC", "1"}}}};
const Transport onlookers[] = {{"checked", {{"OMNES_CHECK", "1"}}},
                               {"reported", {{"OMNES_STATS", ""}, {"OMNES_STATS_SITES", "1"}}},
                               {"recorded", {{"OMNES_RECORD", ""}}}};

class Failures : public testing::TestWithParam<std::tuple<programs::Program, Transport>> {
 protected:
  void SetUp() override {
    for (auto& [name, value] : job.variables)
      if (value.empty()) value = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string pattern = testing::TempDir() + "omnes-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  fake::Job job{.variables = std::get<1>(GetParam()).variables, .seconds = 20};
  void (*program)() = std::get<0>(GetParam()).run;

  /// `some`: how many times of those that one place is come to.
  void try_each(long some, const std::function<bool(const std::string&)>& wanted) {
    job.fault = {};
    const fake::Result whole = fake::run(job, program);
    ASSERT_EQ(whole.wrong, "");
    for (int rank = 0; rank < job.ranks; ++rank)
      for (const auto& [what, count] : whole.calls[rank]) {
        if (!wanted(what)) continue;
        for (const long number : numbers(count, some)) {
          job.fault = {what, number, rank};
          const fake::Result result = fake::run(job, program);
          EXPECT_EQ(result.wrong, "") << what << " fails on rank " << rank << " the " << number << ". of " << count
                                      << " times";
          struck += result.struck;
          errors += result.error;
        }
      }
    EXPECT_GT(struck, 0);
    std::printf("%d failures, of which the program saw %d\n", struck, errors);
  }
  int struck = 0, errors = 0;
};

const std::set<std::string> of_system{
    "mmap", "memfd_create", "ftruncate", "process_vm_readv", "process_vm_writev", "pthread_create", "aligned_alloc"};

TEST_P(Failures, OfTheHost) {
  // These tell which datatypes are committed, and operations right. Of a failure a rank takes the program's to be wrong.
  const std::set<std::string> tells{"Pack", "Op_commutative"};
  try_each(2, [&](const std::string& what) {
    return what != "operator new" && !tells.contains(what) && !of_system.contains(what);
  });
}
TEST_P(Failures, OfTheSystem) {
  try_each(4, [](const std::string& what) { return of_system.contains(what); });
}
TEST_P(Failures, OfAllocations) {
  if (job.variables.contains("OMNES_CHECK") || job.variables.contains("OMNES_RECORD"))
    GTEST_SKIP() << "what finds errors, and records calls, counts on memory";
  try_each(60, [](const std::string& what) { return what == "operator new"; });
}

// The root fails while it sends, and gives back what it can; the other rank comes late, and has what was sent.
template <bool nonblocking>
void fail_before_the_other_comes() {
  mallopt(M_PERTURB, 0xA5);  // what is freed is overwritten
  programs::begin();
  const int rank = fake::own_rank();
  MPI_Comm comm;
  MPI_Datatype every_other;
  MPI(Comm_dup(MPI_COMM_WORLD, &comm));
  MPI(Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MPI(Type_vector(1000, 1, 2, MPI_INT, &every_other));
  MPI(Type_commit(&every_other));
  MPI(Barrier(comm));
  std::vector<int> data(2000, 2 - rank);
  if (rank == 1) usleep(50'000);
  const bool went_well = WENT_WELL([&] {
    if (!nonblocking) return MPI_Bcast(data.data(), 1, every_other, 0, comm);
    MPI_Request request;
    const int code = MPI_Ibcast(data.data(), 1, every_other, 0, comm, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
  }());
  for (int i = 0; i < 2000 && went_well; i += 2)
    if (data[i] != 2) fake::fail("element %d is %d", i, data[i]);
  MPI(Type_free(&every_other));
  MPI(Comm_free(&comm));
  for (int i = 0, flag; i < 100; ++i, usleep(1000))
    MPI(Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  MPI(Finalize());
}

/// Whether the rank's broadcast has failed while it waited for the other rank.
bool fails_in_broadcast(void (*program)(), int rank) {
  fake::Job job{.variables = {{"OMNES_TRANSPORT", "mpi"}}, .eager = 64, .seconds = 20, .after_error = 1000};
  const fake::Result whole = fake::run(job, program);
  EXPECT_EQ(whole.wrong, "");
  for (const char* what : {"Test", "Testsome"}) {
    const auto found = whole.calls[rank].find(what);
    if (found == whole.calls[rank].end()) continue;
    for (const long part : {2, 4, 8, 16}) {  // it does not wait for as many calls each time
      job.fault = {what, std::max(1L, found->second / part), rank};
      const fake::Result result = fake::run(job, program);
      EXPECT_EQ(result.wrong, "") << what << " fails";
      if (result.what.find("cast") != std::string::npos) return true;
    }
  }
  return false;
}

TEST(SendsOfWhatFailed, AreReadFromMemoryThatStays) {
  EXPECT_TRUE(fails_in_broadcast(fail_before_the_other_comes<false>, 0));
  EXPECT_TRUE(fails_in_broadcast(fail_before_the_other_comes<true>, 0));
}

// A rank fails that receives; its buffer is its own again, though the root comes late, and sends.
void fail_while_receiving() {
  programs::begin();
  const int rank = fake::own_rank();
  MPI_Comm comm;
  MPI(Comm_dup(MPI_COMM_WORLD, &comm));
  MPI(Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MPI(Barrier(comm));
  std::vector<int> data(1000, 2);
  if (rank == 0) usleep(50'000);
  if (!WENT_WELL(MPI_Bcast(data.data(), 1000, MPI_INT, 0, comm))) {
    data.assign(1000, 3);
    for (int i = 0, flag; i < 100; ++i, usleep(1000))
      MPI(Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    if (data != std::vector<int>(1000, 3)) fake::fail("what is over has received");
  }
  MPI(Comm_free(&comm));
  MPI(Finalize());
}

TEST(ReceivesOfWhatFailed, WriteNothingAnyMore) { EXPECT_TRUE(fails_in_broadcast(fail_while_receiving, 1)); }

std::string name_of(const testing::TestParamInfo<Failures::ParamType>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name;
}
INSTANTIATE_TEST_SUITE_P(All, Failures,
                         testing::Combine(testing::ValuesIn(programs::all), testing::ValuesIn(transports)), name_of);
INSTANTIATE_TEST_SUITE_P(Watched, Failures,
                         testing::Combine(testing::ValuesIn(programs::all), testing::ValuesIn(onlookers)), name_of);

}  // namespace
