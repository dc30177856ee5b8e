// The whole interposer on a host that does what MPI says, and on one whose messages are late.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "../in_child.hpp"
#include "faults.hpp"
#include "interpose/communicator/repeats.hpp"
#include "interpose/communicator/state.hpp"
#include "interpose/data/job.hpp"
#include "interpose/process/local_socket.hpp"
#include "interpose/progress/until.hpp"
#include "more_programs.hpp"
#include "transport/shm/endpoint.hpp"

namespace {

/// All ranks go to the end, and see no error.
void expect_right(const fake::Job& job, void (*program)()) {
  const fake::Result result = fake::run(job, program);
  EXPECT_EQ(result.wrong, "");
  EXPECT_FALSE(result.error) << result.what;
}

using Variables = std::map<std::string, std::string>;

const std::map<std::string, Variables> transports = {
    {"shared", {}}, {"messages", {{"OMNES_TRANSPORT", "mpi"}}}, {"nodes", {{"OMNES_FAKE_NODES", "2"}}}};

class Programs : public testing::TestWithParam<std::tuple<programs::Program, std::string, int>> {
 protected:
  void (*program)() = std::get<0>(GetParam()).run;
  fake::Job job{.ranks = std::get<2>(GetParam()), .variables = transports.at(std::get<1>(GetParam()))};
};

TEST_P(Programs, GiveWhatTheHostGives) { expect_right(job, program); }

TEST_P(Programs, AlsoWhenMessagesAreLate) {
  job.late = 5;
  job.eager = 64;
  expect_right(job, program);
}

TEST_P(Programs, AlsoWithoutAHook) {
  job.hook = false;
  expect_right(job, program);
}

TEST_P(Programs, AlsoWhereRequestsCannotBeLookedAt) {
  job.looks_at_requests = false;
  expect_right(job, program);
}

std::string name_of(const testing::TestParamInfo<Programs::ParamType>& info) {
  const auto& [program, transport, ranks] = info.param;
  return std::string(program.name) + "_" + transport + "_" + std::to_string(ranks);
}

INSTANTIATE_TEST_SUITE_P(All, Programs,
                         testing::Combine(testing::ValuesIn(programs::all),
                                          testing::Values("shared", "messages", "nodes"), testing::Values(1, 2, 3)),
                         name_of);

class MorePrograms : public Programs {};

TEST_P(MorePrograms, GiveWhatTheHostGives) { expect_right(job, program); }

TEST_P(MorePrograms, AlsoWhenMessagesAreLateAndNobodyLooks) {
  job.late = 5;
  job.eager = 64;
  job.hook = job.looks_at_requests = false;
  expect_right(job, program);
}

INSTANTIATE_TEST_SUITE_P(All, MorePrograms,
                         testing::Combine(testing::ValuesIn(programs::more),
                                          testing::Values("shared", "messages", "nodes"), testing::Values(1, 3)),
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
  expect_right(job, program);
  const auto files = std::distance(std::filesystem::directory_iterator(folder), {});
  EXPECT_EQ(files, job.variables.contains("OMNES_CHECK") ? 0 : job.ranks);
}

TEST_P(Watched, AlsoByMessages) {
  job.variables["OMNES_TRANSPORT"] = "mpi";
  expect_right(job, program);
}

std::string watched_name(const testing::TestParamInfo<Watched::ParamType>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(All, Watched,
                         testing::Combine(testing::ValuesIn(programs::all),
                                          testing::Values("checked", "compared", "reported", "by_site", "recorded")),
                         watched_name);
INSTANTIATE_TEST_SUITE_P(More, Watched,
                         testing::Combine(testing::ValuesIn(programs::more),
                                          testing::Values("checked", "compared", "reported", "by_site", "recorded")),
                         watched_name);

TEST(Between, CallsComeAgain) {
  for (const auto& [name, variables] : transports)
    for (const int ranks : {2, 3}) {
      SCOPED_TRACE(name);
      expect_right({.ranks = ranks, .variables = variables}, programs::all_again);
    }
}

TEST(Between, CallsThatComeAgainAreNotDescribedAnew) {
  for (const int ranks : {2, 3}) expect_right({.ranks = ranks}, [] { programs::Again{false}; });
}

TEST(Repeats, TwoCallsByTurnsAreBothKept) {
  using namespace omnes;
  using namespace omnes::interpose;
  const auto call = [](Wide type, Wide op) {
    return Given(Operation::allreduce, static_cast<const void*>(nullptr), static_cast<void*>(nullptr), std::int64_t{1},
                 type, op);
  };
  const auto prepared = std::make_shared<Prepared>();
  prepared->choice.host = true;
  Staging rooms[3];
  Job job(rooms);
  job.call.operation = Operation::allreduce;
  const auto first = call(1, 1);
  for (Wide other = 2; other < 500; ++other) {
    const auto second = call(other, 3);
    const auto kept = std::make_unique<Repeats>();
    for (const AnyGiven& given : {AnyGiven(first), AnyGiven(second)})
      kept->keep(given, 2, 0, all_forgotten.load(), false, prepared, job);
    for (const AnyGiven& given : {AnyGiven(first), AnyGiven(second)}) {
      const Repeats::Repeat* const found = kept->find(given);
      ASSERT_TRUE(found && Repeats::is_same(*found, given)) << "of datatypes 1 and " << other;
    }
  }
}

// Counts of which most are 0, and of which a rank's own ones may be 0 the first time.
void send_to_few() {
  using namespace omnes;
  using namespace omnes::interpose;
  constexpr int most = 5, rounds = 100, most_ranks = 3;
  programs::begin();
  int rank, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  std::uint32_t number = 17;
  const auto any = [&number] { return (number = number * 1664525 + 1013904223) >> 24; };
  const auto value = [](int round, int from, int to, int i) {
    return ((round * most_ranks + from) * most_ranks + to) * most + i;
  };
  for (int round = 0; round < rounds; ++round) {
    int all[most_ranks][most_ranks], at[most_ranks];  // elements from one rank to another
    for (int from = 0; from < p; ++from)
      for (int to = 0; to < p; ++to)
        all[from][to] = round > 0 && any() % 4 > 0 ? 0 : static_cast<int>(any() % (most + 1));
    if (round == 0) std::ranges::fill(all[0], 0);
    if (round == 0) all[1][1] = 2;
    int own[most_ranks], counts[most_ranks], sent[most_ranks * most], received[most_ranks * most];
    for (int r = 0; r < p; ++r) {
      at[r] = (p - 1 - r) * most;
      own[r] = all[rank][r];
      counts[r] = all[r][rank];
      for (int i = 0; i < own[r]; ++i) sent[at[r] + i] = value(round, rank, r, i);
    }
    const auto expect = [&](const char* call, int first, int end, const auto& count, const auto& to) {
      for (int from = first; from < end; ++from)
        for (int i = 0; i < most; ++i) {
          const int there = i < count(from) ? value(round, from, to(from), i) : -1;
          if (received[at[from] + i] != there) fake::fail("%s, round %d: %d of rank %d", call, round, i, from);
        }
    };
    const auto to_me = [&](int) { return rank; };
    // As of an empty std::vector.
    const auto if_any = [](auto* data, int count) { return count > 0 ? data : nullptr; };
    const auto sum = [p](const int* of) { return std::accumulate(of, of + p, 0); };
    const int* const to_all = if_any(sent, sum(own));
    int* const from_all = if_any(received, sum(counts));
    std::ranges::fill(received, -1);
    MPI(Alltoallv(to_all, own, at, MPI_INT, from_all, counts, at, MPI_INT, MPI_COMM_WORLD));
    expect("Alltoallv", 0, p, [&](int from) { return counts[from]; }, to_me);

    const int root = round % p;
    std::ranges::fill(received, -1);
    MPI(Gatherv(if_any(sent + at[root], own[root]), own[root], MPI_INT, from_all, counts, at, MPI_INT, root,
                MPI_COMM_WORLD));
    if (rank == root) expect("Gatherv", 0, p, [&](int from) { return counts[from]; }, to_me);
    std::ranges::fill(received, -1);
    MPI(Scatterv(to_all, own, at, MPI_INT, if_any(received + at[root], counts[root]), counts[root], MPI_INT, root,
                 MPI_COMM_WORLD));
    expect("Scatterv", root, root + 1, [&](int from) { return counts[from]; }, to_me);

    int diagonal[most_ranks];
    for (int r = 0; r < p; ++r) diagonal[r] = all[r][r];
    const int* const mine = if_any(sent + at[rank], own[rank]);
    std::ranges::fill(received, -1);
    MPI(Allgatherv(mine, own[rank], MPI_INT, received, diagonal, at, MPI_INT, MPI_COMM_WORLD));
    expect("Allgatherv", 0, p, [&](int from) { return diagonal[from]; }, [](int from) { return from; });

    const auto type = static_cast<Wide>(MPI_INT);
    const Given allgatherv(Operation::allgatherv, static_cast<const void*>(mine), own[rank], type,
                           static_cast<void*>(received), static_cast<const int*>(diagonal), static_cast<const int*>(at),
                           type);
    const Given alltoallv(Operation::alltoallv, static_cast<const void*>(to_all), static_cast<const int*>(own),
                          static_cast<const int*>(at), type, static_cast<void*>(from_all),
                          static_cast<const int*>(counts), static_cast<const int*>(at), type);
    State* const state = known_state(MPI_COMM_WORLD);
    // Once one with data was, of those with null in the same places.
    const auto expect_kept = [&](const char* call, const Repeats::Repeat* known, bool has_data) {
      if (known == nullptr ? has_data : !known->is_valid() || !known->resizable)
        fake::fail("%s of round %d is not kept", call, round);
    };
    expect_kept("Allgatherv", state->repeats.find(allgatherv), sum(diagonal) > 0);
    if (to_all != nullptr || from_all != nullptr) expect_kept("Alltoallv", state->repeats.find(alltoallv), true);
  }
  programs::end();
}

TEST(Repeats, CallsWithoutDataAreKept) {
  for (const int ranks : {2, 3}) expect_right({.ranks = ranks}, send_to_few);
}

// A contribution that begins among what is received is for a closer look, also after a call without any data.
void gather_none() {
  using namespace omnes;
  using namespace omnes::interpose;
  programs::begin();
  const int own[4] = {};
  int received[8] = {};
  for (const int count : {3, 2, 0, 2}) {
    const int counts[] = {count, count}, at[] = {0, count};
    MPI(Allgatherv(own, count, MPI_INT, received, counts, at, MPI_INT, MPI_COMM_WORLD));
    const auto type = static_cast<Wide>(MPI_INT);
    const Given given(Operation::allgatherv, static_cast<const void*>(own), count, type, static_cast<void*>(received),
                      static_cast<const int*>(counts), static_cast<const int*>(at), type);
    const Repeats::Repeat* const known = known_state(MPI_COMM_WORLD)->repeats.find(given);
    if (known == nullptr || known->overlaps(own, received)) fake::fail("%d elements are not kept", count);
    if (count > 0 && !known->overlaps(received + 1, received)) fake::fail("%d elements may lie anywhere", count);
  }
  programs::end();
}

TEST(Repeats, SeeWhatOverlapsAfterCallsWithoutData) { expect_right({.ranks = 2}, gather_none); }

// A blocking operation sends to who still waits for another message of the nonblocking one.
void overtake() {
  int rank, p, sent[2], first[3], second[3];
  programs::begin();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  for (int round = 0; round < 3; ++round) {
    MPI_Request request;
    sent[0] = rank;
    sent[1] = 100 + rank;
    if (rank == round) usleep(10'000);
    MPI(Iallgather(&sent[0], 1, MPI_INT, first, 1, MPI_INT, MPI_COMM_WORLD, &request));
    MPI(Allgather(&sent[1], 1, MPI_INT, second, 1, MPI_INT, MPI_COMM_WORLD));
    MPI(Wait(&request, MPI_STATUS_IGNORE));
    for (int r = 0; r < p; ++r)
      if (first[r] != r || second[r] != 100 + r) fake::fail("part %d is %d and %d", r, first[r], second[r]);
  }
  programs::end();
}

TEST(Lanes, AreNotMistakenForEachOther) {
  for (const auto& [name, variables] : transports) {
    fake::Job job{.ranks = 3, .variables = variables};
    job.variables["OMNES_ALLGATHER"] = "ring";
    expect_right(job, overtake);
  }
}

// The first of two short operations cannot end on rank 0 before the second one has ended on rank 1.
struct {
  std::atomic<bool> begun, over;
}* second;

void combine_when_the_second_is_over(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int looks = 0; fake::own_rank() == 0 && !second->over; ++looks) {
    if (looks > 10'000) fake::fail("the second operation waits for the first");
    usleep(1000);
  }
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void end_in_any_order() {
  int rank, one = 1, sums[2], before;
  MPI_Op op;
  MPI_Request requests[2];
  programs::begin();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Op_create(combine_when_the_second_is_over, 1, &op);
  MPI(Iallreduce(&one, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]));
  MPI(Wait(&requests[0], MPI_STATUS_IGNORE));
  while (rank == 1 && !second->begun) usleep(1000);
  MPI(Iallreduce(&one, &sums[0], 1, MPI_INT, op, MPI_COMM_WORLD, &requests[0]));
  MPI(Iallreduce(&one, &sums[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
  second->begun = true;
  if (rank == 1) {
    MPI(Wait(&requests[1], MPI_STATUS_IGNORE));
    second->over = true;
  }
  MPI(Waitall(2, requests, MPI_STATUSES_IGNORE));
  if (sums[0] != 2 || sums[1] != 2) fake::fail("the sums are %d and %d, not 2", sums[0], sums[1]);
  MPI_Op_free(&op);
  programs::end();
}

TEST(Lanes, LetShortOperationsOvertakeEachOther) {
  void* const shared = mmap(nullptr, sizeof *second, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  for (const auto& [name, variables] : transports) {
    SCOPED_TRACE(name);
    second = new (shared) std::remove_reference_t<decltype(*second)>{};
    expect_right({.ranks = 2, .variables = variables}, end_in_any_order);
  }
  munmap(shared, sizeof *second);
}

// Rows and columns of a matrix, each time of another shape: what lies between their blocks stays as it is.
void hand_on_blocks() {
  int rank;
  programs::begin();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  constexpr int row = 24, rows = 12;
  for (int length = 1; length < 6; ++length)
    for (const int gap : {1, 7}) {
      const int stride = length + gap, elements = 2, extent = (rows + 1) * row;
      MPI_Datatype blocks, spread;
      if (gap == 1)
        MPI(Type_vector(rows, length, stride, MPI_INT, &blocks));
      else
        MPI(Type_create_hvector(rows, length, stride * MPI_Aint{sizeof(int)}, MPI_INT, &blocks));
      MPI(Type_create_resized(blocks, 0, extent * MPI_Aint{sizeof(int)}, &spread));
      MPI(Type_commit(&spread));
      std::vector<int> data(elements * extent, -1);
      const auto in_block = [&](int i) {
        return i % extent < (rows - 1) * stride + length && i % extent % stride < length;
      };
      for (int i = 0; i < elements * extent && rank == 1; ++i)
        if (in_block(i)) data[i] = i;
      MPI(Bcast(data.data(), elements, spread, 1, MPI_COMM_WORLD));
      for (int i = 0; i < elements * extent; ++i)
        if (const int right = in_block(i) ? i : -1; data[i] != right)
          fake::fail("blocks of %d, %d apart: element %d is %d", length, stride, i, data[i]);
      MPI(Type_free(&spread));
      MPI(Type_free(&blocks));
    }
  programs::end();
}

TEST(Blocks, ArePackedWithoutTheHost) {
  const fake::Result result = fake::run({}, hand_on_blocks);
  EXPECT_EQ(result.wrong, "");
  for (const auto& calls : result.calls) EXPECT_EQ(calls.count("Pack") + calls.count("Unpack"), 0);
}

// Types that list their blocks, made for one call: forwards and backwards, in a row, below the buffer's address, of one element
// and two, and some alike but for a block in their midst.
void hand_on_lists() {
  int rank;
  programs::begin();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  constexpr int blocks = 5, middle = 100, longest = 300;
  const std::vector<std::vector<int>> lists = {{0, 7, 14, 21, 28},  {0, 7, 15, 21, 28},   {0, 7, 13, 21, 28},
                                               {40, 30, 21, 12, 3}, {-20, 0, 9, 50, -40}, {0, 3, 6, 9, 12},
                                               {0, 7, 15, 21, 28}};
  for (int times = 0; times < 2; ++times)
    for (const std::vector<int>& at : lists)
      for (const int kind : {0, 1, 2, 3})
        for (const int elements : {1, 2}) {
          int lengths[blocks];
          MPI_Aint bytes[blocks];
          for (int i = 0; i < blocks; ++i) {
            lengths[i] = kind == 1 || kind == 3 ? 3 : 1 + i % 3;
            bytes[i] = at[i] * MPI_Aint{sizeof(int)};
          }
          MPI_Datatype type;
          if (kind == 0) {
            MPI(Type_indexed(blocks, lengths, at.data(), MPI_INT, &type));
          } else if (kind == 1) {
            MPI(Type_create_indexed_block(blocks, 3, at.data(), MPI_INT, &type));
          } else {
            MPI(Type_create_hindexed(blocks, lengths, bytes, MPI_INT, &type));
          }
          int extent = 0;
          if (kind == 3) {
            MPI_Datatype list = type;
            extent = 95;
            MPI(Type_create_resized(list, 0, extent * MPI_Aint{sizeof(int)}, &type));
            MPI(Type_free(&list));
          } else {
            int to = at[0] + lengths[0], from = at[0];
            for (int i = 0; i < blocks; ++i) from = std::min(from, at[i]), to = std::max(to, at[i] + lengths[i]);
            extent = to - from;
          }
          MPI(Type_commit(&type));
          std::vector<int> data(longest, -1), right(longest, -1);
          for (int e = 0; e < elements; ++e)
            for (int i = 0; i < blocks; ++i)
              for (int k = 0; k < lengths[i]; ++k) {
                const int place = middle + e * extent + at[i] + k;
                right[place] = place;
              }
          if (rank == 1) data = right;
          MPI(Bcast(data.data() + middle, elements, type, 1, MPI_COMM_WORLD));
          for (int i = 0; i < longest; ++i)
            if (data[i] != right[i]) fake::fail("kind %d, %d elements: %d is %d", kind, elements, i - middle, data[i]);
          MPI(Type_free(&type));
        }
  programs::end();
}

TEST(Shapes, ThatConstructorsListAreKnownWithoutTheHost) {
  const fake::Result result = fake::run({.ranks = 2}, hand_on_lists);
  EXPECT_EQ(result.wrong, "");
  for (const auto& calls : result.calls)
    for (const char* const name : {"Pack", "Unpack", "Type_get_envelope", "Type_get_contents", "Type_set_attr"})
      EXPECT_EQ(calls.count(name), 0) << name;
}

// Data of all shapes, short and long.
void move_shapes() {
  int p;
  programs::begin();
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm ring;
  const int around = 1;
  MPI(Cart_create(MPI_COMM_WORLD, 1, &p, &around, 0, &ring));
  constexpr MPI_Aint extent = 240;  // bytes
  const auto resized = [](MPI_Datatype made) {
    MPI_Datatype type;
    MPI(Type_create_resized(made, 0, extent, &type));
    MPI(Type_commit(&type));
    MPI(Type_free(&made));
    return type;
  };
  std::vector<MPI_Datatype> types;
  MPI_Datatype made, inner;
  MPI(Type_vector(5, 3, 9, MPI_INT, &made));
  types.push_back(resized(made));
  const int sizes[] = {4, 3, 5}, lengths[] = {2, 2, 3}, starts[] = {1, 1, 2};
  for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
    MPI(Type_create_subarray(3, sizes, lengths, starts, order, MPI_INT, &made));
    types.push_back(resized(made));
  }
  const int longer[] = {3, 1, 1, 1, 7, 2}, places[] = {40, 3, 7, 11, 20, 0};  // some alike, some backwards
  MPI(Type_indexed(6, longer, places, MPI_INT, &made));
  types.push_back(resized(made));
  const int fields[] = {1, 2};
  const MPI_Aint at[] = {4, 16};
  const MPI_Datatype of[] = {MPI_SHORT, MPI_DOUBLE};
  MPI(Type_create_struct(2, fields, at, of, &inner));
  MPI(Type_vector(3, 2, 3, inner, &made));
  types.push_back(resized(made));
  MPI(Type_free(&inner));
  MPI(Type_vector(2, 1, 3, MPI_INT, &inner));
  MPI(Type_create_hvector(4, 2, 50, inner, &made));
  types.push_back(resized(made));
  MPI(Type_free(&inner));
  for (MPI_Datatype type : types) {
    for (const int count : {1, 300}) {
      programs::Arguments all(MPI_COMM_WORLD, count, type, extent), near(ring, count, type, extent);
      near.send.resize(2 * count * extent);
      near.recv.resize(2 * count * extent);
      for (int i = 0; i < programs::most_ranks; ++i) {
        near.counts[i] = count, near.at[i] = i * count, near.types[i] = type;
        near.far_at[i] = i * count * extent;
      }
      for (const programs::Operation& operation : programs::operations)
        if (!std::strstr(operation.name, "educe") && !std::strstr(operation.name, "can"))
          programs::in_all_forms(operation, all);
      for (const programs::Operation& operation : programs::of_neighbors) programs::in_all_forms(operation, near);
    }
    MPI(Type_free(&type));
  }
  MPI(Comm_free(&ring));
  programs::end();
}

TEST(Shapes, ArriveAsTheyAreAndLeaveGapsAlone) {
  for (const auto& [name, variables] : transports)
    for (const int ranks : {1, 3}) {
      SCOPED_TRACE(name + ", ranks: " + std::to_string(ranks));
      expect_right({.ranks = ranks, .variables = variables}, move_shapes);
    }
  expect_right({.ranks = 3, .variables = {{"OMNES_ALLTOALLV", "linear"}, {"OMNES_ALLGATHERV", "ring"}}}, move_shapes);
}

// What each rank sends lies where it receives another's part, or begins in it. MPI forbids that; hosts have sent it before they receive.
void send_from_among_the_parts() {
  int rank, p;
  programs::begin();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  constexpr int count = 40000, stride = 3;
  MPI_Datatype one, spaced;
  MPI(Type_vector(1, 2, stride, MPI_INT, &one));
  MPI(Type_create_resized(one, 0, stride * sizeof(int), &spaced));
  MPI(Type_commit(&spaced));
  for (const bool gaps_sent : {false, true})
    for (const bool gaps_received : {false, true}) {
      if (!gaps_sent && !gaps_received) continue;
      std::vector<int> all(p * count * stride, -1);
      int* const own = all.data() + (rank + 1) % p * count * stride;
      for (int i = 0; i < 2 * count; ++i) own[gaps_sent ? i / 2 * stride + i % 2 : i] = 1000 * rank + i;
      MPI(Allgather(own, gaps_sent ? count : 2 * count, gaps_sent ? spaced : MPI_INT, all.data(),
                    gaps_received ? count : 2 * count, gaps_received ? spaced : MPI_INT, MPI_COMM_WORLD));
      for (int i = 0; i < 2 * count * p; ++i)
        if (const int found = all[gaps_received ? i / 2 * stride + i % 2 : i], r = i / (2 * count);
            found != 1000 * r + i % (2 * count))
          fake::fail("part %d, element %d is %d", r, i % (2 * count), found);
    }
  MPI(Type_free(&spaced));
  MPI(Type_free(&one));
  programs::end();
}

TEST(Shapes, AreSentAsTheyWereThoughTheyLieWhereOthersArrive) {
  for (const int ranks : {2, 3}) expect_right({.ranks = ranks}, send_from_among_the_parts);
}

// The same calls again and again, of few elements with gaps; then from elsewhere, both buffers moved alike or not, or what is
// sent lies among what is received; with other counts between; and with another type, whose handle may be the same.
class ShapesAgain {
 public:
  ShapesAgain() : data_(4 * apart, 0) {
    programs::begin();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &p_);
    MPI_Op_create(add, 1, &op_);
    for (const int length : {2, 1}) {
      MPI_Datatype block;
      length_ = length;
      MPI(Type_vector(1, length, stride, MPI_INT, &block));
      MPI(Type_create_resized(block, 0, stride * sizeof(int), &type_));
      MPI(Type_commit(&type_));
      MPI(Type_free(&block));
      for (count_ = 1; count_ < 4; ++count_) everything();
      MPI(Type_free(&type_));
    }
    MPI_Op_free(&op_);
    programs::end();
  }

 private:
  static constexpr int stride = 3, apart = 400;
  static void add(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i)
      for (int k = 0; k < 2; ++k) static_cast<int*>(inout)[stride * i + k] += static_cast<int*>(in)[stride * i + k];
  }

  void everything() {
    std::vector<int> counts(p_, count_), at(p_);
    for (int r = 0; r < p_; ++r) at[r] = r * count_;
    const auto of_sender = [](int from, int) { return from; };
    const auto of_both = [](int from, int to) { return 100 * from + to; };
    again(
        "Bcast", 0, 1, [](int, int) { return 7; },
        [&](int*, int* recv) {
          if (rank_ == 0) fill(recv, 7);
          MPI(Bcast(recv, count_, type_, 0, MPI_COMM_WORLD));
        });
    again("Allgather", 1, p_, of_sender,
          [&](int* send, int* recv) { MPI(Allgather(send, count_, type_, recv, count_, type_, MPI_COMM_WORLD)); });
    again("Alltoallv", p_, p_, of_both, [&](int* send, int* recv) {
      MPI(Alltoallv(send, counts.data(), at.data(), type_, recv, counts.data(), at.data(), type_, MPI_COMM_WORLD));
    });
    const int all = p_ * (p_ - 1) / 2;
    again("Allreduce", 1, 1, of_sender, [&](int* send, int* recv) {
      MPI(Allreduce(send, recv, count_, type_, op_, MPI_COMM_WORLD));
      for (int i = 0; i < count_; ++i)  // what was expected is the part of rank 0
        for (int k = 0; k < length_; ++k) recv[stride * i + k] -= all + p_ * (10 * i + k) - (10 * i + k);
    });
  }

  void fill(int* part, int value) {
    for (int i = 0; i < count_; ++i)
      for (int k = 0; k < length_; ++k) part[stride * i + k] = value + 10 * i + k;
  }

  /// `value(from, to)`: of the first element of what one sends to the other.
  template <class Value, class Call>
  void again(const char* operation, int sent, int received, Value value, Call call) {
    constexpr int calls = 15;
    int allocating = 0;  // some, that have waited and looked at what else there is to do
    for (int times = 0; times < calls; ++times)
      allocating += run(operation, 0, 2 * apart, sent, received, value, call) > 0;
    if (allocating > calls / 2) fake::fail("of %d calls of MPI_%s %d allocate", calls, operation, allocating);
    const bool among = received > 1 && sent == 1;
    const int next = (rank_ + 1) % p_ * count_ * stride;
    for (const auto& [from, to] : {std::pair{apart, 3 * apart},
                                   {0, 2 * apart},
                                   {apart, 2 * apart},
                                   {0, 2 * apart},
                                   {among ? 2 * apart + next : 0, 2 * apart},
                                   {0, 2 * apart}})
      run(operation, from, to, sent, received, value, call);
  }

  /// Returns how often it has allocated.
  template <class Value, class Call>
  long run(const char* operation, int from, int to, int sent, int received, Value value, Call call) {
    std::ranges::fill(data_, -1);
    int *const send = data_.data() + from, *const recv = data_.data() + to;
    for (int part = 0; part < sent; ++part) fill(send + part * count_ * stride, value(rank_, part));
    const long before = fake::allocations();
    call(send, recv);
    const long allocated = fake::allocations() - before;
    for (int part = 0; part < received; ++part)
      for (int i = 0; i < count_; ++i)
        for (int k = 0; k < stride; ++k) {
          const int got = recv[(part * count_ + i) * stride + k];
          if (const int right = k < length_ ? value(part, rank_) + 10 * i + k : -1; got != right)
            fake::fail("MPI_%s from %d to %d: element %d of part %d is %d, not %d", operation, from, to, i, part, got,
                       right);
        }
    return allocated;
  }

  std::vector<int> data_;
  int rank_, p_, count_, length_;
  MPI_Op op_;
  MPI_Datatype type_;
};

TEST(Shapes, ComeAgain) {
  for (const auto& [name, variables] : transports)
    for (const int ranks : {2, 3}) {
      SCOPED_TRACE(name + ", ranks: " + std::to_string(ranks));
      expect_right({.ranks = ranks, .variables = variables}, [] { ShapesAgain{}; });
    }
}

// A datatype is made, used and freed, and one like it made again, after so many others were used elsewhere that this one was looked up anew.
void make_types_like_others() {
  constexpr int stride = 3, others = 2000;
  const auto make = [](int blocks) {
    MPI_Datatype type;
    MPI(Type_vector(blocks, 1, stride, MPI_INT, &type));
    MPI(Type_commit(&type));
    return type;
  };
  int rank;
  programs::begin();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm twin;
  MPI(Comm_dup(MPI_COMM_WORLD, &twin));
  const auto bcast = [rank](int blocks, MPI_Datatype type, MPI_Comm comm) {
    std::vector<int> data(blocks * stride, -1);
    for (int i = 0; i < blocks && rank == 0; ++i) data[i * stride] = 100 + i;
    MPI(Bcast(data.data(), 1, type, 0, comm));
    for (int i = 0; i < blocks * stride; ++i)
      if (const int right = i % stride == 0 ? 100 + i / stride : -1; data[i] != right)
        fake::fail("%d blocks: element %d is %d, not %d", blocks, i, data[i], right);
  };
  for (const int blocks : {2, 5, 2}) {
    MPI_Datatype type = make(blocks);
    bcast(blocks, type, MPI_COMM_WORLD);
    std::vector<MPI_Datatype> more;
    for (int i = 0; i < others; ++i) bcast(7 + i % 3, more.emplace_back(make(7 + i % 3)), twin);
    for (int times = 0; times < 3; ++times) bcast(blocks, type, MPI_COMM_WORLD);
    MPI(Type_free(&type));
    type = make(blocks);  // with the same handle
    for (int times = 0; times < 3; ++times) bcast(blocks, type, MPI_COMM_WORLD);
    MPI(Type_free(&type));
    for (MPI_Datatype& other : more) MPI(Type_free(&other));
  }
  MPI(Comm_free(&twin));
  programs::end();
}

TEST(Shapes, OfTypesThatAreMadeAgain) { expect_right({.ranks = 2}, make_types_like_others); }

TEST(Shapes, ArePackedWithoutTheHost) {
  const fake::Result result = fake::run({.ranks = 2}, move_shapes);
  EXPECT_EQ(result.wrong, "");
  // But for a look at each of the six types, whether it is committed.
  for (const auto& calls : result.calls) {
    const auto found = calls.find("Pack");
    EXPECT_LE(found == calls.end() ? 0 : found->second, 6);
    EXPECT_EQ(calls.count("Unpack"), 0);
  }
}

// What a program does wrong is told in one line, and what it does right is not.
class Faults : public testing::TestWithParam<programs::Fault> {};

TEST_P(Faults, AreTold) {
  const programs::Fault& fault = GetParam();
  fake::Job job{.ranks = 3, .variables = fault.variables, .after_error = 10000};
  job.variables.try_emplace("OMNES_CHECK", "1");
  testing::internal::CaptureStderr();
  const fake::Result result = fake::run(job, [&] {
    programs::begin();
    int rank, p;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    fault.run(rank, p);
    programs::end();
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(result.wrong, "");
  EXPECT_EQ(result.error, fault.ends) << result.what;
  for (const std::string& text : fault.said) EXPECT_NE(said.find(text), said.npos) << text << "; said: " << said;
  if (fault.ends) {
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(programs::faults),
                         [](const auto& info) { return std::string(info.param.name); });

// Settings change how results come about, not results.
const std::map<std::string, Variables> settings = {
    {"off", {{"OMNES_OFF", "1"}}},
    {"by_thread", {{"OMNES_ASYNC", "1"}}},
    {"without_heap", {{"OMNES_HEAP", "off"}}},
    {"without_adopting", {{"OMNES_HEAP", "alloc_mem"}}},
    {"without_single_copies", {{"OMNES_SINGLE_COPY", "off"}, {"OMNES_DIRECT_COPY", "1G"}}},
    {"small_slots", {{"OMNES_SLOTS", "4"}, {"OMNES_SLOT_BYTES", "4K"}, {"OMNES_SINGLE_COPY", "1K"}}},
    {"reproducible", {{"OMNES_REPRODUCIBLE", "1"}}},
    {"yielding", {{"OMNES_WAIT", "yield"}}},
    {"spinning", {{"OMNES_WAIT", "spin"}}},
    {"renumbered", {{"OMNES_REMAP", "reorder"}, {"OMNES_FAKE_NODES", "2"}, {"OMNES_ALLGATHER", "recursive_doubling"}}},
    {"by_host",
     {{"OMNES_BARRIER", "host"},
      {"OMNES_BCAST", "host"},
      {"OMNES_REDUCE", "host"},
      {"OMNES_ALLREDUCE", "host"},
      {"OMNES_SCAN", "host"},
      {"OMNES_EXSCAN", "host"},
      {"OMNES_REDUCE_SCATTER", "host"},
      {"OMNES_REDUCE_SCATTER_BLOCK", "host"},
      {"OMNES_GATHER", "host"},
      {"OMNES_SCATTER", "host"},
      {"OMNES_ALLGATHER", "host"},
      {"OMNES_ALLTOALL", "host"},
      {"OMNES_GATHERV", "host"},
      {"OMNES_SCATTERV", "host"},
      {"OMNES_ALLGATHERV", "host"},
      {"OMNES_ALLTOALLV", "host"},
      {"OMNES_ALLTOALLW", "host"}}},
    {"by_model",
     {{"OMNES_BCAST", "model"}, {"OMNES_ALLREDUCE", "model"}, {"OMNES_ALLTOALL", "model"}, {"OMNES_STATS", ""}}},
    {"counting_all", {{"OMNES_ALLTOALLV", "tuna"}, {"OMNES_ALLTOALLW", "tuna"}, {"OMNES_ALLGATHERV", "ring"}}}};

class Settings : public testing::TestWithParam<std::tuple<programs::Program, std::string>> {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string pattern = testing::TempDir() + "omnes-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
};

TEST_P(Settings, LeaveResultsAsTheyAre) {
  const auto& [program, name] = GetParam();
  fake::Job job{.ranks = 3, .variables = settings.at(name)};
  for (auto& [variable, value] : job.variables)
    if (value.empty()) value = folder;
  expect_right(job, program.run);
  if (name != "by_host") return;
  job.variables["OMNES_STATS"] = folder;
  expect_right(job, program.run);
}

/// Those that use all operations and forms, and memory.
const programs::Program with_settings[] = {
    {"blocking", programs::all_blocking},       {"requested", programs::all_requested},
    {"completions", programs::all_completions}, {"large", programs::all_large},
    {"in_place", programs::all_in_place},       {"memory", programs::all_memory},
    {"threads", programs::all_threads}};
std::vector<std::string> names_of(const std::map<std::string, Variables>& all) {
  std::vector<std::string> names;
  for (const auto& [name, variables] : all) names.push_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, Settings,
                         testing::Combine(testing::ValuesIn(with_settings), testing::ValuesIn(names_of(settings))),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
                         });

/// What is said at the first error, of a job in which there is one.
std::string said_by(const Variables& variables, const std::function<void()>& program, fake::Job job = {}) {
  job.variables = variables;
  const fake::Result result = fake::run(job, program);
  EXPECT_EQ(result.wrong, "");
  EXPECT_TRUE(result.error);
  return result.what;
}

TEST(WrongSettings, AreErrorsOfInit) {
  const struct {
    const char *variable, *value, *said;
  } cases[] = {{"OMNES_BCAST", "knomail", "OMNES_BCAST: no algorithm \"knomail\" for bcast; did you mean knomial?"},
               {"OMNES_TRANSPORT", "carrier", "OMNES_TRANSPORT: \"carrier\" is not valid"},
               {"OMNES_HEAP", "shared", "OMNES_HEAP=shared: libomnes-heap.so is not loaded"},
               {"OMNES_TABLE", "/nowhere/table.toml", "/nowhere/table.toml"},
               {"OMNES_MACHINE", "/nowhere/machine.toml", "/nowhere/machine.toml"},
               {"OMNES_TOPOLOGY", "/nowhere/network", "/nowhere/network"}};
  for (const auto& one : cases) {
    const std::string said = said_by({{one.variable, one.value}}, [] {
      programs::begin();
      programs::end();
    });
    EXPECT_NE(said.find("Init_thread"), said.npos) << one.variable << ": " << said;
    EXPECT_NE(said.find(one.said), said.npos) << one.variable << ": " << said;
  }
}

TEST(WrongSettings, OfOneRankLeaveAllToTheHost) {
  fake::Job job{.ranks = 3, .variables = {}};
  for (const char* variable : {"OMNES_SLOTS", "OMNES_OFF"}) {
    const fake::Result result = fake::run(job, [variable] {
      if (fake::own_rank() == 1) setenv(variable, variable[6] == 'O' ? "1" : "6", 1);
      programs::all_blocking();
    });
    EXPECT_EQ(result.wrong, "");
    EXPECT_FALSE(result.error) << result.what;
  }
}

TEST(InfoKeys, ChooseAlgorithmsOrSayWhyNot) {
  const auto with = [](const char* value) {
    return [value] {
      programs::begin();
      MPI_Comm twin;
      MPI(Comm_dup(MPI_COMM_WORLD, &twin));
      programs::Arguments a(twin, 10, MPI_INT, sizeof(int));
      programs::blocking(programs::operations[3], a);
      MPI_Info info;
      MPI_Info_create(&info);
      MPI_Info_set(info, "omnes_allreduce", value);
      MPI(Comm_set_info(twin, info));
      MPI_Info_free(&info);
      for (int times = 0; times < 3; ++times) programs::blocking(programs::operations[3], a);
      programs::nonblocking(programs::operations[3], a);
      MPI(Comm_free(&twin));
      programs::end();
    };
  };
  for (const char* value : {"ring", "host", "model", "recursive_doubling"}) {
    const fake::Result result = fake::run({.ranks = 3}, with(value));
    EXPECT_EQ(result.wrong, "");
    EXPECT_FALSE(result.error) << value << ": " << result.what;
  }
  const std::string said = said_by({}, with("knomail"));
  EXPECT_NE(said.find("omnes_allreduce: no algorithm \"knomail\" for allreduce; did you mean knomial?"), said.npos)
      << said;
}

// A call with an error is its rank's own affair: the others' go on as soon as it makes a right one.
// Control variables of a host that loads more of itself.
int controls_of_host = 2;
int count_controls(int* count) {
  *count = controls_of_host;
  return MPI_SUCCESS;
}
int count_one(int* count) {
  *count = 1;
  return MPI_SUCCESS;
}
int tell_control(int index, char* name, int* length, int*, MPI_Datatype*, MPI_T_enum*, char*, int*, int*, int*) {
  if (index < 0 || index >= controls_of_host) return MPI_T_ERR_INVALID_INDEX;
  *length = std::snprintf(name, *length, "host_%d", index) + 1;
  return MPI_SUCCESS;
}
int find_control(const char* name, int* index) {
  return std::sscanf(name, "host_%d", index) == 1 && *index < controls_of_host ? MPI_SUCCESS : MPI_T_ERR_INVALID_NAME;
}

void expect_control(const char* name, int index) {
  char found[100];
  int at = -1, length = sizeof found;
  MPI(T_cvar_get_index(name, &at));
  if (at != index) fake::fail("%s is at %d, not at %d", name, at, index);
  MPI(T_cvar_get_info(index, found, &length, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  if (std::string(found) != name) fake::fail("%s is at %d, not %s", found, index, name);
}

TEST(ToolsVariables, StayWhereTheyAreWhenTheHostGetsMore) {
  expect_right({.ranks = 1}, [] {
    omnes::interpose::host.T_cvar_get_num = count_controls;
    omnes::interpose::host.T_cvar_get_info = tell_control;
    omnes::interpose::host.T_cvar_get_index = find_control;
    omnes::interpose::host.T_pvar_get_num = omnes::interpose::host.T_category_get_num = count_one;
    int before = 0, after = 0, first = 0, none = 0;
    MPI(T_cvar_get_num(&before));
    MPI(T_cvar_get_index("OMNES_WAIT", &first));
    expect_control("host_1", 1);
    if (MPI_T_cvar_get_index("host_2", &none) != MPI_T_ERR_INVALID_NAME) fake::fail("a variable that is not there");
    controls_of_host = 4;
    MPI(T_cvar_get_num(&after));
    if (after != before + 2) fake::fail("%d variables, not %d", after, before + 2);
    expect_control("OMNES_WAIT", first);
    expect_control("host_1", 1);
    expect_control("host_2", before);
    expect_control("host_3", before + 1);
    if (MPI_T_cvar_get_info(after, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) !=
        MPI_T_ERR_INVALID_INDEX)
      fake::fail("a variable behind the last one");
  });
}

// The first thread that makes something of a communicator's size stays there until another one comes, or for a while.
std::atomic<int> sizing;
int (*size_of_host)(MPI_Comm, int*);
int size_slowly(MPI_Comm comm, int* size) {
  if (sizing++ == 0)
    for (int ms = 0; sizing == 1 && ms < 300; ++ms) usleep(1000);
  return size_of_host(comm, size);
}

TEST(ToolsVariables, AreFoundBesideTheFirstCall) {
  sizing = 0;
  expect_right({.ranks = 2}, [] {
    programs::begin(MPI_THREAD_MULTIPLE);
    int rank, index, length, sum = 0;
    const int one = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
      omnes::interpose::host.T_cvar_get_num = count_controls;
      omnes::interpose::host.T_cvar_get_info = tell_control;
      omnes::interpose::host.T_cvar_get_index = find_control;
      omnes::interpose::host.T_pvar_get_num = omnes::interpose::host.T_category_get_num = count_one;
      MPI(T_cvar_get_index("omnes_allreduce_chosen", &index));
      size_of_host = std::exchange(omnes::interpose::host.Comm_size, size_slowly);
      MPI_T_cvar_handle chosen;
      std::thread asking([&] {
        const fake::Safe test;
        MPI_Comm comm = MPI_COMM_WORLD;
        MPI(T_cvar_handle_alloc(index, &comm, &chosen, &length));
      });
      MPI(Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
      asking.join();
      char text[4096] = "";
      MPI(T_cvar_read(chosen, text));
      MPI(T_cvar_handle_free(&chosen));
    } else {
      MPI(Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    }
    if (sum != 2) fake::fail("the sum is %d", sum);
    programs::end();
  });
}

TEST(Errors, OfCallsAreTheHosts) {
  const fake::Result result = fake::run({.ranks = 3, .variables = {}}, [] {
    programs::begin();
    programs::Arguments a(MPI_COMM_WORLD, 10, MPI_INT, sizeof(int));
    for (const programs::Operation& operation : programs::operations) programs::blocking(operation, a);
    const auto fails = [](const char* call, int code, int expected) {
      if (code != expected) fake::fail("%s returned %d, not %d", call, code, expected);
    };
    MPI_Comm twin;
    MPI(Comm_dup(MPI_COMM_WORLD, &twin));
    int* const one = reinterpret_cast<int*>(a.send.data());
    for (int times = 0; times < 2; ++times) {
      fails("Allreduce", MPI_Allreduce(one, one, 10, MPI_INT, MPI_SUM, twin), MPI_ERR_BUFFER);
      fails("Scan", MPI_Scan(one, one, 10, MPI_INT, MPI_SUM, twin), MPI_ERR_BUFFER);
      fails("Exscan", MPI_Exscan(one, one, 10, MPI_INT, MPI_SUM, twin), MPI_ERR_BUFFER);
      fails("Allgather", MPI_Allgather(one + a.rank, 1, MPI_INT, one, 1, MPI_INT, twin), MPI_ERR_BUFFER);
      fails("Alltoall", MPI_Alltoall(one, 1, MPI_INT, one, 1, MPI_INT, twin), MPI_ERR_BUFFER);
      fails("Reduce_scatter_block", MPI_Reduce_scatter_block(one, one, 1, MPI_INT, MPI_SUM, twin), MPI_ERR_BUFFER);
      fails("Reduce_scatter_block", MPI_Reduce_scatter_block(one, a.recv.data(), -1, MPI_INT, MPI_SUM, twin),
            MPI_ERR_COUNT);
      MPI_Request request;
      fails("Iallreduce", MPI_Iallreduce(one, one, 10, MPI_INT, MPI_SUM, twin, &request), MPI_ERR_BUFFER);
    }
    programs::Arguments b(twin, 10, MPI_INT, sizeof(int));
    for (const programs::Operation& operation : programs::operations) programs::blocking(operation, b);
    MPI(Comm_free(&twin));
    for (const programs::Operation& operation : programs::operations) programs::blocking(operation, a);
    programs::end();
  });
  EXPECT_EQ(result.wrong, "");
}

TEST(Errors, MessagesThatAreTooLong) {
  const fake::Result result = fake::run({.ranks = 2, .variables = {}}, [] {
    programs::begin();
    programs::Arguments a(MPI_COMM_WORLD, 10, MPI_INT, sizeof(int));
    int* const send = reinterpret_cast<int*>(a.send.data());
    int* const recv = reinterpret_cast<int*>(a.recv.data());
    const int many[] = {2, 2}, few[] = {1, 1}, at[] = {0, 4};
    const auto fails = [](const char* call, int code) {
      if (code != MPI_ERR_TRUNCATE) fake::fail("%s returned %d, not %d", call, code, MPI_ERR_TRUNCATE);
    };
    for (int times = 0; times < 3; ++times) {
      int code;
      {
        const fake::InMpi inside("Alltoallv");
        code = MPI_Alltoallv(send, many, at, MPI_INT, recv, few, at, MPI_INT, MPI_COMM_WORLD);
      }
      fails("Alltoallv", code);
      MPI_Request request;
      {
        const fake::InMpi inside("Ialltoallv");
        code = MPI_Ialltoallv(send, many, at, MPI_INT, recv, few, at, MPI_INT, MPI_COMM_WORLD, &request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      fails("Ialltoallv", code);
    }
    for (const programs::Operation& operation : programs::operations) programs::blocking(operation, a);
    programs::end();
  });
  EXPECT_EQ(result.wrong, "");
}

// Names of sockets are guessed, or taken first, by anyone.
TEST(LocalSocket, OtherUsersAreNotLetInAndNotCalledAt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  constexpr unsigned nobody = 65534;
  const std::string name = "omnes-test-" + std::to_string(getpid());
  const int socket = omnes::interpose::listen_at(name);
  ASSERT_GE(socket, 0);
  const auto called_by = [&](unsigned user) {
    return omnes::in_child([&] { return setuid(user) == 0 && omnes::interpose::call_at(name) >= 0 ? 0 : 1; }) == 0;
  };
  EXPECT_TRUE(called_by(0));
  const int visitor = omnes::interpose::next_visitor(socket);
  EXPECT_GE(visitor, 0);
  EXPECT_FALSE(called_by(nobody));                        // who does not trust the one that listens
  EXPECT_EQ(omnes::interpose::next_visitor(socket), -1);  // and is not trusted
  for (const int one : {visitor, socket}) close(one);
}

// ULFM: what is revoked is left to the host, which says so.
TEST(Errors, OfRevokedCommunicators) {
  const fake::Result result = fake::run({.ranks = 2, .variables = {}, .revokes = true}, [] {
    programs::begin();
    MPI_Comm twin;
    MPI(Comm_dup(MPI_COMM_WORLD, &twin));
    programs::Arguments a(twin, 10, MPI_INT, sizeof(int));
    for (const int number : {0, 3, 11}) {
      programs::blocking(programs::operations[number], a);
      programs::blocking(programs::operations[number], a);
      programs::nonblocking(programs::operations[number], a);
    }
    MPI(Barrier(MPI_COMM_WORLD));
    fake::revoke(twin);
    MPI(Barrier(MPI_COMM_WORLD));
    // The fake host serves them all the same.
    for (const int number : {0, 3, 11}) programs::blocking(programs::operations[number], a);
    MPI(Comm_free(&twin));
    programs::Arguments world(MPI_COMM_WORLD, 10, MPI_INT, sizeof(int));
    programs::blocking(programs::operations[3], world);
    programs::end();
  });
  EXPECT_EQ(result.wrong, "");
  EXPECT_FALSE(result.error) << result.what;
}

// The fake host gives no handle that some rank still has.
TEST(Spares, ComeBackWhereNothingWasLeftBehind) {
  const fake::Result result = fake::run({.ranks = 3, .variables = {}}, [] {
    programs::begin();
    programs::Arguments world(MPI_COMM_WORLD, 10, MPI_INT, sizeof(int));
    programs::blocking(programs::operations[0], world);
    const auto dup = [] {
      MPI_Comm made;
      MPI(Comm_dup(MPI_COMM_WORLD, &made));
      return made;
    };
    const auto split = [](int color, int key) {
      MPI_Comm made;
      MPI(Comm_split(MPI_COMM_WORLD, color, key, &made));
      return made;
    };
    const auto released = [](MPI_Comm comm) {
      const MPI_Comm before = comm;
      programs::Arguments a(comm, 10, MPI_INT, sizeof(int));
      programs::blocking(programs::operations[0], a);
      MPI(Comm_free(&comm));
      return before;
    };
    const auto expect = [](const char* what, bool right) {
      if (!right) fake::fail("%s", what);
    };
    const MPI_Comm twin = released(dup());
    expect("a duplicate comes back", dup() == twin);
    const MPI_Comm second = dup();
    expect("no two are one", second != twin);
    released(second), released(twin);
    expect("the newest comes first", released(dup()) == second);
    const MPI_Comm part = released(split(world.rank % 2, 0)), all = released(split(7, -world.rank));
    expect("parts are told apart", split(world.rank % 2, 0) == part && split(7, -world.rank) == all);
    released(part), released(all);
    expect("of one rank alone there is another way", split(7, world.rank == 1 ? -4 : -world.rank) != all);

    MPI_Comm third = dup();
    expect("the same", third == second);
    if (world.rank == 1) {  // what one rank has left behind keeps it from all
      int flag;
      MPI(Iprobe(MPI_ANY_SOURCE, 0, third, &flag, MPI_STATUS_IGNORE));
    }
    released(third);
    expect("the other one", dup() == twin);
    programs::end();
  });
  EXPECT_EQ(result.wrong, "");
}

// With stand-ins for the drivers of GPUs.
class Devices : public testing::TestWithParam<std::tuple<const char*, bool, std::string>> {};

TEST_P(Devices, GiveWhatTheHostGives) {
  const auto& [driver, managed, transport] = GetParam();
  const std::string path = std::string(FAKE_DRIVERS "/") + driver;
  const fake::Result result = fake::run({.ranks = 2, .variables = transports.at(transport)},
                                        [&] { programs::use_device(path.c_str(), managed); });
  EXPECT_EQ(result.wrong, "");
  EXPECT_FALSE(result.error) << result.what;
}

std::string device_name(const testing::TestParamInfo<Devices::ParamType>& info) {
  const auto& [driver, managed, transport] = info.param;
  std::string name = std::string(driver).substr(0, std::string_view(driver).find('/'));
  std::erase(name, '-');
  return name + (managed ? "_managed_" : "_") + transport;
}

INSTANTIATE_TEST_SUITE_P(All, Devices,
                         testing::Combine(testing::Values("cuda/libcuda.so.1", "hip-6/libamdhip64.so.6",
                                                          "hip-5/libamdhip64.so.5", "ze/libze_loader.so.1"),
                                          testing::Bool(), testing::Values("shared", "messages")),
                         device_name);

// Who waits in the host may wait for a rank that sleeps in a collective.
TEST(AHostThatLooksInVain, WakesWhoSleeps) {
  omnes::shm::SleepWord word{};
  word.word = 1;
  omnes::shm::watch_sleepers({&word}, false);
  for (int looks = 0; looks < 10; ++looks) omnes::interpose::pause_in_host();
  omnes::shm::watch_sleepers({}, false);
  EXPECT_EQ(word.asleep(), 0U);
}

TEST(DevicesThatCannotCopy, AreErrorsThatSaySo) {
  const fake::Result result = fake::run(
      {.ranks = 2, .variables = {}}, [] { programs::use_device(FAKE_DRIVERS "/without-copies/libcuda.so.1", false); });
  EXPECT_EQ(result.wrong, "");
  EXPECT_TRUE(result.error);
  const std::string said = "buffers in a GPU's memory cannot be served: libcuda.so.1 lacks cuMemcpyAsync";
  EXPECT_NE(result.what.find(said), result.what.npos) << result.what;
}

}  // namespace
