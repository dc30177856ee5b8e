// Predictions on a machine with round figures, worked out by hand; and the ways to save work against the full simulation.
#include <gtest/gtest.h>

#include <stdexcept>

#include "model/predict.hpp"

namespace omnes::model {
namespace {

using enum Operation;

// In microseconds: a message between nodes takes 1 + 2 + 1 and 1 for 1000 B; a copy 1 for 1000 B, a reduction 1 for 2000 B.
const char* const round_figures = R"(
format = "omnes machine"
version = 1
copy = [[0, 0, 1e-9]]
reduce = { "f64 sum" = [[0, 0, 0.5e-9]] }
[[level]]
name = "node"
by = "memory"
send = 0.1e-6
recv = 0.1e-6
latency = 0.2e-6
copy = [[0, 0, 1e-9]]
fragment = 1000
single_from = 100000
single = [[0, 1e-6, 1e-9]]
[[level]]
name = "network"
by = "messages"
send = 1e-6
recv = 1e-6
latency = 2e-6
wire = [[0, 0, 1e-9]]
synchronous_from = 50000
)";

Prediction predict(Operation operation, const std::string& choice, int p, int per_node, std::size_t bytes,
                   const std::string& machine = round_figures) {
  const MachineCosts parsed = parse_machine(machine);
  const Placement placement = blocks_of(p, per_node);
  return Predictor({&parsed, &placement}, parse_choice(operation, choice), p)(bytes);
}
double us(Operation operation, const std::string& choice, int p, int per_node, std::size_t bytes) {
  return 1e6 * predict(operation, choice, p, per_node, bytes).seconds;
}

TEST(Model, MessagesBetweenNodesByHand) {
  EXPECT_NEAR(us(bcast, "knomial", 2, 1, 0), 4, 1e-9);
  EXPECT_NEAR(us(bcast, "knomial", 2, 1, 1000), 5, 1e-9);
  EXPECT_NEAR(us(bcast, "knomial", 8, 1, 1000), 3 * 5, 1e-9);
  EXPECT_NEAR(us(bcast, "linear", 3, 1, 4000), 1 + 4 + 2 + 4 + 1, 1e-9);  // the second message waits for the port
  EXPECT_NEAR(us(reduce, "knomial", 2, 1, 1000), 5.5, 1e-9);
  EXPECT_NEAR(us(allreduce, "recursive_doubling", 4, 1, 1000), 2 * 5.5, 1e-9);
  EXPECT_NEAR(us(bcast, "knomial", 2, 1, 50000), 1 + 2 + 1 + 2 + 2 + 50, 1e-9);  // asks, is told, comes
}

TEST(Model, SharedMemoryByHand) {
  EXPECT_NEAR(us(bcast, "linear", 2, 2, 0), 0.1 + 0.2 + 0.1, 1e-9);
  EXPECT_NEAR(us(bcast, "linear", 2, 2, 1000), 0.4 + 2, 1e-9);   // in, then out
  EXPECT_NEAR(us(bcast, "linear", 2, 2, 9000), 0.4 + 10, 1e-9);  // out follows one fragment behind
  EXPECT_NEAR(us(bcast, "linear", 8, 8, 9000), 0.4 + 10, 1e-9);  // copied in once for all
  EXPECT_NEAR(us(reduce, "linear", 2, 2, 1000), 0.4 + 2, 1e-9);  // combined while read
  EXPECT_NEAR(us(bcast, "linear", 2, 2, 200000), 0.4 + 1 + 100 + 0.2,
              1e-9);  // both copy a half, and the sender hears of it
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Model, TheCopyIntoSlotsMayBeCheaper) {
  const std::string machine = with(round_figures, "fragment", "copy_in = [[0, 0, 0.25e-9]]\nfragment");
  EXPECT_NEAR(1e6 * predict(bcast, "linear", 2, 2, 1000, machine).seconds, 0.4 + 0.25 + 1, 1e-9);
  EXPECT_NEAR(1e6 * predict(bcast, "linear", 2, 2, 10000, machine).seconds, 0.4 + 0.25 + 10, 1e-9);
}

TEST(Model, MessagesThatCrossAreLater) {
  const std::string machine = with(round_figures, "wire", "exchange_latency = 0.5e-6\nwire");
  EXPECT_NEAR(1e6 * predict(allreduce, "recursive_doubling", 4, 1, 1000, machine).seconds, 2 * 6, 1e-9);
  EXPECT_NEAR(1e6 * predict(allreduce, "hierarchical_reduce_bcast", 2, 1, 1000, machine).seconds, 5.5 + 5, 1e-9);
}

TEST(Model, SendersGoOnWhenTheirDataAreHandedOver) {
  const std::string machine = with(round_figures, "wire", "held = [[0, 0, 0.5e-9]]\nwire");
  const auto sender_done = [](std::size_t bytes, const std::string& text) {
    return 1e6 * predict(bcast, "knomial", 2, 1, bytes, text).rank_finished[0];
  };
  EXPECT_NEAR(sender_done(1000, round_figures), 1, 1e-9);
  EXPECT_NEAR(sender_done(1000, machine), 1 + 0.5, 1e-9);
  EXPECT_NEAR(sender_done(50000, round_figures), 1 + 2 + 1 + 2 + 2 + 50, 1e-9);  // until they are there
  EXPECT_NEAR(sender_done(50000, machine), 1 + 2 + 1 + 2 + 25, 1e-9);
}

TEST(Model, ThePathAddsUp) {
  for (const char* choice : {"linear", "knomial", "sliced", "recursive_doubling", "rabenseifner", "ring:segment=1K"})
    for (const std::size_t bytes : {8, 4000, 60000, 1 << 20})
      for (const int per_node : {1, 4, 16}) {
        const Prediction one = predict(allreduce, choice, 16, per_node, bytes);
        EXPECT_NEAR(one.path.total(), one.seconds, 1e-9 * one.seconds + 1e-15) << choice << ' ' << bytes;
        EXPECT_GT(one.seconds, 0);
      }
}

TEST(Model, SharedLinksOfANodeAreShared) {
  const std::string slow_card =
      std::string(round_figures)
          .insert(std::string(round_figures).find("[[level]]\nname = \"network\""), "out = 1e-9\n");
  const double alone = predict(alltoall, "linear", 8, 4, 4000).seconds;
  EXPECT_GT(predict(alltoall, "linear", 8, 4, 4000, slow_card).seconds, 1.5 * alone);  // four ranks through one card
  EXPECT_EQ(predict(alltoall, "linear", 4, 4, 4000, slow_card).seconds,
            predict(alltoall, "linear", 4, 4, 4000).seconds);
}

// A few ranks stand for all: the same answer as from all of them.
TEST(Model, SymmetryChangesNothing) {
  const MachineCosts machine = parse_machine(round_figures);
  const struct {
    Operation operation;
    const char* algorithm;
  } cases[] = {{allgather, "ring"},
               {allreduce, "ring"},
               {allgather, "recursive_doubling"},
               {barrier, "dissemination"},
               {allreduce, "rabenseifner"},
               {alltoall, "bruck"},
               {alltoall, "pairwise"},
               {allreduce, "recursive_doubling"}};
  for (const auto& [operation, algorithm] : cases)
    for (const int per_node : {1, 4})
      for (const double bytes : {8.0, 3200.0}) {
        const int p = 32;
        const Placement placement = blocks_of(p, per_node);
        const ScheduleOf schedule = [&, operation = operation, algorithm = algorithm](int rank) {
          return build(*find_algorithm(operation, algorithm), {.operation = operation, .p = p, .rank = rank});
        };
        const Symmetry found = find_symmetry(p, placement, schedule);
        EXPECT_LE(found.classes, per_node) << algorithm;
        Simulator simulator(machine);
        const double few = simulator.run(record(machine, placement, found, schedule), bytes).seconds;
        const double all = simulator.run(record(machine, placement, {p, p, false}, schedule), bytes).seconds;
        EXPECT_NEAR(few, all, 1e-9 * all) << algorithm << ' ' << per_node << ' ' << bytes;
      }
}

TEST(Model, TreesHaveNoSymmetry) {
  const ScheduleOf schedule = [](int rank) {
    return build(*find_algorithm(bcast, "knomial"), {.operation = bcast, .p = 64, .rank = rank});
  };
  EXPECT_EQ(find_symmetry(64, blocks_of(64, 1), schedule).classes, 64);
}

TEST(Model, LargeGroups) {
  const Prediction tree = predict(bcast, "knomial", 1 << 17, 1, 1000);
  EXPECT_EQ(tree.method, Method::all_ranks);
  EXPECT_NEAR(tree.seconds, 17 * 5e-6, 1e-9);
  const Prediction ring = predict(allgather, "ring", 8192, 1, 1000);
  EXPECT_EQ(ring.method, Method::classes);
  EXPECT_NEAR(ring.seconds, 8191 * 5e-6, 2e-6);
  const Prediction scatter = predict(bcast, "scatter_recursive_doubling", 4096, 1, 1 << 16);
  EXPECT_EQ(scatter.method, Method::continued);
  EXPECT_GT(scatter.seconds, 24 * 4e-6);
}

TEST(Model, HierarchicalOnesAreContinuedFromFewerUnits) {
  for (const auto& [per_node, p] : {std::pair(8, 512), {8, 8 * 65}, {48, 48 * 21}}) {
    const Prediction few = predict(Operation::alltoall, "hierarchical", 64 * 8 / 2, 8, 16384);
    const Prediction many = predict(Operation::alltoall, "hierarchical", p, per_node, 16384);
    EXPECT_EQ(many.method, Method::continued) << p;
    EXPECT_GT(many.seconds, few.seconds) << p;
  }
}

TEST(Model, ForSelection) {
  const MachineCosts machine = parse_machine(default_machine);
  const Placement placement = blocks_of(8, machine.ranks_per_node);
  const Algorithm& linear = *find_algorithm(bcast, "linear");
  const double seconds = predicted_seconds(linear, {.operation = bcast, .p = 8}, machine, placement, 1024);
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(seconds, predicted_seconds(linear, {.operation = bcast, .p = 8}, machine, placement, 1024));
}

TEST(MachineFile, FaultsAreOneClearLine) {
  const std::string good = round_figures;
  const std::pair<std::string, std::string> cases[] = {
      {"", "machine file: does not say format = \"omnes machine\""},
      {with(good, "version = 1", "version = 2"), "machine file: version: valid: 1"},
      {with(good, "version = 1", "version = -2e29"), "machine file: version: valid: 1"},
      {with(good, "send = 1e-6", "sned = 1e-6"),
       "machine file: no such entry: level 2 sned; valid: by, copy, copy_in, exchange, exchange_latency, fragment, "
       "held, latency, name, out, recv, send, shared, single, single_from, single_publish, single_reduce, "
       "synchronous_from, wire"},
      {with(good, "latency = 2e-6", "latency = -1"), "machine file: level 2 latency: valid: a number, 0 or more"},
      {with(good, "\"messages\"", "\"pigeon\""), "machine file: level 2 by: valid: \"memory\", \"messages\""},
      {with(good, "wire = [[0, 0, 1e-9]]", "wire = [[8, 0, 1e-9]]"),
       "machine file: level 2 wire: valid: [[from, alpha, beta], ...] with `from` 0 in the first and ascending"},
      {with(good, "version = 1", "version = 1\nranks_per_node = 22e29"),
       "machine file: ranks_per_node: valid: 1 to 1048576"},
      {with(good, "\"network\"", "\"rack\""), "machine file: the last level is to be \"network\""},
      {with(good, "f64 sum", "f32 sum"), "machine file: reduce has no \"f64 sum\""},
  };
  for (const auto& [text, wanted] : cases) {
    try {
      parse_machine(text);
      ADD_FAILURE() << "accepted, not: " << wanted;
    } catch (const std::invalid_argument& fault) {
      EXPECT_EQ(fault.what(), wanted);
    }
  }
}

}  // namespace
}  // namespace omnes::model
