// Blocks, the builder's dependencies, and the contract.
#include <gtest/gtest.h>

#include <set>

#include "schedule/builder.hpp"
#include "schedule/contract.hpp"

namespace omnes {
namespace {

using Deps = std::vector<std::uint32_t>;

Deps deps_of(const Schedule& schedule, std::size_t op) {
  const auto deps = schedule.deps_of(schedule.ops[op]);
  return {deps.begin(), deps.end()};
}

Builder builder(Operation operation, int p, int rank, bool in_place = false) {
  return Builder({.operation = operation, .p = p, .rank = rank, .in_place = in_place});
}

struct Shape {
  Operation operation;
  bool in_place;
  int root_send, root_recv, other_send, other_recv;  // blocks for p = 3, two pieces
};

const Shape shapes[] = {
    {Operation::barrier, false, 0, 0, 0, 0},    {Operation::bcast, false, 0, 2, 0, 2},
    {Operation::reduce, false, 2, 2, 2, 0},     {Operation::reduce, true, 0, 2, 0, 0},
    {Operation::allreduce, false, 2, 2, 2, 2},  {Operation::allreduce, true, 0, 2, 0, 2},
    {Operation::gather, false, 2, 6, 2, 0},     {Operation::gather, true, 0, 6, 0, 0},
    {Operation::scatter, false, 6, 2, 0, 2},    {Operation::scatter, true, 6, 0, 0, 0},
    {Operation::allgather, false, 2, 6, 2, 6},  {Operation::allgather, true, 0, 6, 0, 6},
    {Operation::alltoall, false, 6, 6, 6, 6},   {Operation::alltoall, true, 0, 6, 0, 6},
    {Operation::allgatherv, false, 2, 6, 2, 6}, {Operation::reduce_scatter, false, 6, 2, 6, 2},
    {Operation::scan, false, 2, 2, 2, 2},       {Operation::scan, true, 0, 2, 0, 2},
    {Operation::exscan, true, 0, 2, 0, 2},
};

TEST(Schedule, BlocksOfBuffers) {
  for (const Shape& shape : shapes) {
    Problem problem{.operation = shape.operation, .p = 3, .rank = 1, .root = 1, .in_place = shape.in_place};
    EXPECT_EQ(blocks_in(problem, 2, Buffer::send), shape.root_send) << name(shape.operation);
    EXPECT_EQ(blocks_in(problem, 2, Buffer::recv), shape.root_recv) << name(shape.operation);
    problem.rank = 2;
    EXPECT_EQ(blocks_in(problem, 2, Buffer::send), shape.other_send) << name(shape.operation);
    EXPECT_EQ(blocks_in(problem, 2, Buffer::recv), shape.other_recv) << name(shape.operation);
  }
}

TEST(Schedule, NamesOfOperations) {
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    EXPECT_EQ(operation_named(name(operation)), operation);
  }
  EXPECT_EQ(operation_named("broadcast"), std::nullopt);
}

TEST(Builder, ReaderWaitsForWriter) {
  Builder b = builder(Operation::bcast, 3, 1);
  b.recv(0, recv_blocks(0));
  b.send(2, recv_blocks(0));
  const Schedule schedule = b.finish();
  EXPECT_EQ(deps_of(schedule, 0), Deps{});
  EXPECT_EQ(deps_of(schedule, 1), Deps{0});
}

TEST(Builder, WriterWaitsForReadersAndWriter) {
  Builder b = builder(Operation::allreduce, 3, 0, true);
  b.send(1, recv_blocks(0));
  b.send(2, recv_blocks(0));
  b.recv(1, recv_blocks(0));
  b.recv(2, recv_blocks(0));
  const Schedule schedule = b.finish();
  EXPECT_EQ(deps_of(schedule, 1), Deps{});
  EXPECT_EQ(deps_of(schedule, 2), (Deps{0, 1}));
  EXPECT_EQ(deps_of(schedule, 3), Deps{2});
}

TEST(Builder, OtherBlocksDoNotMatter) {
  Builder b = builder(Operation::allreduce, 3, 0, true);
  b.cut(3);
  b.recv(1, recv_blocks(0, 2));
  b.send(2, recv_blocks(2));
  b.recv_reduce(1, recv_blocks(1, 2), recv_blocks(1, 2));
  const Schedule schedule = b.finish();
  EXPECT_EQ(deps_of(schedule, 1), Deps{});
  EXPECT_EQ(deps_of(schedule, 2), (Deps{0, 1}));
}

TEST(Builder, StepWaitsForAll) {
  Builder b = builder(Operation::barrier, 3, 0);
  b.recv(1, {});
  b.recv(2, {});
  b.step();
  b.step();
  b.send(1, {});
  b.send(2, {});
  b.step();
  b.recv(1, {});
  const Schedule schedule = b.finish();
  EXPECT_EQ(deps_of(schedule, 2), (Deps{0, 1}));
  EXPECT_EQ(deps_of(schedule, 3), (Deps{0, 1}));
  EXPECT_EQ(deps_of(schedule, 4), (Deps{2, 3}));
}

TEST(Builder, JoinsManyOpsBeforeAStep) {
  constexpr int many = 40;
  Builder b = builder(Operation::barrier, many + 1, 0);
  for (int from = 1; from <= many; ++from) b.recv(from, {});
  b.step();
  for (int to = 1; to <= many; ++to) b.send(to, {});
  const Schedule schedule = b.finish();
  EXPECT_EQ(schedule.ops.size(), 2 * many + 1);
  EXPECT_EQ(deps_of(schedule, many).size(), many);
  for (int op = many + 1; op <= 2 * many; ++op) EXPECT_EQ(deps_of(schedule, op), (Deps{many}));
}

TEST(Builder, LeavesOutWhatDoesNothing) {
  Builder b = builder(Operation::allreduce, 1, 0);
  b.publish(b.own());
  b.send(std::span<const std::int32_t>{}, b.own());
  b.copy(recv_blocks(0), recv_blocks(0));
  EXPECT_TRUE(b.finish().ops.empty());
}

TEST(Builder, KnowsTheOwnContribution) {
  EXPECT_EQ(builder(Operation::allgather, 4, 2).own(), send_blocks(0));
  EXPECT_EQ(builder(Operation::allgather, 4, 2, true).own(), recv_blocks(2));
  EXPECT_EQ(builder(Operation::allreduce, 4, 2, true).own(), recv_blocks(0));
}

TEST(Builder, RanksFromTheRoot) {
  const Builder b({.operation = Operation::bcast, .p = 5, .rank = 1, .root = 3});
  EXPECT_EQ(b.vrank(), 3);
  EXPECT_EQ(b.real(3), 1);
  EXPECT_EQ(b.real(-1), 2);
  EXPECT_EQ(b.real(5), 3);
}

using Contribution = std::set<std::pair<int, int>>;

/// What lies in the buffers at the start, for all ranks together: each block of each contribution once.
TEST(Contract, StartsWithEachContributionOnce) {
  const int p = 4, pieces = 3;
  for (const Shape& shape : shapes) {
    Contribution there;
    std::size_t blocks = 0, expected = 0;
    for (int rank = 0; rank < p; ++rank) {
      const Problem problem{.operation = shape.operation, .p = p, .rank = rank, .root = 2, .in_place = shape.in_place};
      const bool contributes = problem.rank == problem.root ||
                               (shape.operation != Operation::bcast && shape.operation != Operation::scatter);
      const bool has_form = !shape.in_place || !rooted(shape.operation) || rank == problem.root;
      if (!has_form) continue;
      if (contributes) expected += contributed_blocks(problem, pieces);
      for (const Buffer buffer : {Buffer::send, Buffer::recv})
        for (int block = 0; block < blocks_in(problem, pieces, buffer); ++block)
          if (const auto origin = initial(problem, pieces, buffer, block)) {
            EXPECT_EQ(origin->rank, rank);
            there.insert({origin->rank, origin->block});
            ++blocks;
          }
    }
    EXPECT_EQ(there.size(), blocks) << name(shape.operation);
    EXPECT_EQ(blocks, expected) << name(shape.operation);
  }
}

TEST(Contract, PromisesBlocksThatExist) {
  const int p = 4, pieces = 3;
  for (const Shape& shape : shapes)
    for (int rank = 0; rank < p; ++rank) {
      const Problem problem{.operation = shape.operation, .p = p, .rank = rank, .root = 2, .in_place = shape.in_place};
      for (int block = 0; block < blocks_in(problem, pieces, Buffer::recv); ++block) {
        const Promise promise = promised(problem, pieces, block);
        EXPECT_EQ(promise.combined > 0, reduces(shape.operation) && !promise.nothing);
        EXPECT_LT(promise.block, contributed_blocks(problem, pieces));
        EXPECT_EQ(promise.block % pieces, block % pieces) << "of another size";
      }
    }
}

TEST(Contract, SendBuffersAreConst) {
  for (const Shape& shape : shapes) EXPECT_FALSE(writable({.operation = shape.operation}, Buffer::send));
  EXPECT_FALSE(writable({.operation = Operation::bcast, .p = 2, .rank = 1, .root = 1}, Buffer::recv));
  EXPECT_TRUE(writable({.operation = Operation::bcast, .p = 2, .rank = 0, .root = 1}, Buffer::recv));
  EXPECT_TRUE(writable({.operation = Operation::bcast, .p = 2, .rank = 1, .root = 1}, Buffer::temp));
}

}  // namespace
}  // namespace omnes
