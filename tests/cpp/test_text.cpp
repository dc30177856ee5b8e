// The text form: the golden file, round trips, and what is said about text that is no schedule.
#include "schedule/text.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "algorithms/registry.hpp"

namespace omnes {
namespace {

/// Every op in every form.
Schedule every_op() {
  Builder b({.operation = Operation::allreduce, .p = 5, .rank = 1, .in_place = true, .radix = 2, .segments = 3});
  b.cut(4);
  const Blocks temp = b.temp(4);
  const std::vector<std::int32_t> alike = {2, 0};
  const Blocks more = b.temp_like(alike);
  const std::vector<std::int32_t> set = {0, 3, 4};
  b.publish(b.own());
  b.send(0, {});
  b.send(set, recv_blocks(1, 2));
  b.recv(2, {});
  b.recv(2, sub(temp, 0, 4));
  b.recv_published(4, more);
  b.recv_reduce(3, recv_blocks(0, 4), recv_blocks(0, 4));
  b.recv_reduce_first(3, recv_blocks(2), sub(more, 0));
  b.recv_reduce(2, recv_blocks(0), sub(temp, 0), true);
  b.recv_reduce_first(2, recv_blocks(0), sub(temp, 0), true);
  b.step();
  b.copy(sub(temp, 0), recv_blocks(0));
  b.reduce(sub(temp, 1, 2), recv_blocks(1, 2), recv_blocks(1, 2));
  b.send(2, recv_blocks(4, 0));
  return b.finish();
}

TEST(Text, IsTheGoldenFile) {
  const std::filesystem::path tests = OMNES_TESTS;
  std::ostringstream golden;
  golden << std::ifstream(tests / "golden" / "every_op.txt").rdbuf();
  EXPECT_EQ(to_text(every_op()), golden.str());
}

TEST(Text, RoundTripsEveryOp) { EXPECT_EQ(from_text(to_text(every_op())), every_op()); }

TEST(Text, RoundTripsTheCatalogue) {
  for (const Algorithm* algorithm : catalogue())
    for (int rank = 0; rank < 8; ++rank)
      for (const bool in_place : {false, true}) {
        if (in_place && rooted(algorithm->operation) && rank != 0) continue;
        const Schedule schedule =
            build(*algorithm, {.operation = algorithm->operation, .p = 8, .rank = rank, .in_place = in_place});
        EXPECT_EQ(from_text(to_text(schedule)), schedule) << name(algorithm->operation) << "/" << algorithm->name;
      }
}

TEST(Text, NamesTheRankWhereASizeIsKnown) {
  Builder b({.operation = Operation::alltoallv, .p = 5, .rank = 1});
  b.cut(2);
  b.temp(2, 4);
  const std::vector<Pair> pairs = {{0, 3}, {1, 3}, {4, 1}, {1, 4}};
  b.temp_between(pairs);
  const Schedule schedule = b.finish();
  EXPECT_TRUE(needs_all_counts(schedule));
  EXPECT_EQ(to_text(schedule),
            "alltoallv p 5 rank 1 root 0 radix 0 segments 1 pieces 2\n"
            "temp 4..5 0..3@3 8..9 2..3@4\n");
  EXPECT_EQ(from_text(to_text(schedule)), schedule);
}

TEST(Text, IgnoresSpaceAndEmptyLines) {
  const Schedule schedule = every_op();
  std::string spaced = "\n\n";
  for (const char c : to_text(schedule)) spaced += c == '\n' ? " \r\n\n" : c == ' ' ? "  \t" : std::string(1, c);
  EXPECT_EQ(from_text(spaced), schedule);
}

struct Wrong {
  const char* text;  // after the head for those that start with a newline
  const char* message;
};

const Wrong wrongs[] = {
    {"", "line 1: expected an operation, found no text"},
    {"sum p 2",
     "line 1: expected an operation (barrier, bcast, reduce, allreduce, gather, gatherv, scatter, scatterv, allgather, "
     "allgatherv, alltoall, alltoallv, alltoallw, reduce_scatter_block, reduce_scatter, scan, exscan, "
     "neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw), "
     "found 'sum p 2'"},
    {"bcast rank 0", "line 1: expected 'p', found 'rank 0'"},
    {"bcast p two", "line 1: expected a number, found 'two'"},
    {"bcast p -2 rank 0", "line 1: expected p that is not negative, found '-2 rank 0'"},
    {"bcast p 99999999999", "line 1: expected a number, found '99999999999'"},
    {"gather p 2 rank 0 root 0 radix 0 segments 1 pieces 8388609",
     "line 1: expected fewer pieces: no more than 16777216 blocks in all, found the end of the line"},
    {"\n1 publish: recv[0]", "line 2: expected op number 0, found '1 publish: recv[0]'"},
    {"\n0 receive from 1: recv[0]",
     "line 2: expected an op (publish, send, recv, recv_reduce, copy, reduce), found 'receive from 1: recv[0]'"},
    {"\n0 send to 1 recv[0]", "line 2: expected ':', found 'recv[0]'"},
    {"\n0 send to {1 2: recv[0]", "line 2: expected a number, found ': recv[0]'"},
    {"\n0 send to {}: recv[0]", "line 2: expected a number, found '}: recv[0]'"},
    {"\n0 recv from 1: buffer[0]",
     "line 2: expected blocks: send[..], recv[..], temp[..] or nothing, found 'buffer[0]'"},
    {"\n0 recv from 1: recv[3..1]", "line 2: expected a last block >= first - 1, found '1]'"},
    {"\n0 recv from 1: recv[-1]", "line 2: expected a block that is not negative, found '-1]'"},
    {"\n0 recv from 1: recv[0", "line 2: expected ']', found the end of the line"},
    {"\n0 recv from 1: recv[0] and more", "line 2: expected the end of the line, found 'and more'"},
    {"\n0 recv_reduce from 1: recv[0] = recv[0] . send[0]", "line 2: expected 'incoming', found 'send[0]'"},
    {"\ntemp 0 1@", "line 2: expected a number, found the end of the line"},
    {"\ntemp 0@-1", "line 2: expected a rank that is not negative, found '-1'"},
    {"\ntemp 0..9 10..300000000",
     "line 2: expected no more than 16777216 temporary blocks in all, found the end of the line"},
    {"\n0 publish: recv[0]  after", "line 2: expected a number, found the end of the line"},
    {"\n0 publish: recv[0]\n\n1 copy: recv[0]", "line 4: expected '=', found the end of the line"},
    {"\n0 publish: recv[0]\ntemp 0", "line 3: expected op number 1, found 'temp 0'"},
};

TEST(Text, SaysWhatIsWrong) {
  for (const auto& [text, message] : wrongs) {
    const std::string head = *text == '\n' ? "bcast p 3 rank 0 root 0 radix 0 segments 1 pieces 1" : "";
    try {
      from_text(head + text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_STREQ(error.what(), message);
    }
  }
}

}  // namespace
}  // namespace omnes
