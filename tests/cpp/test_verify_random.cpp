// What the verifier passes works in practice: the schedules of the catalogue, and spoilt copies that still pass, are run
// block by block in random order over queues of one block, and must end as the contract says.
//
// The queues complete a send before its message is received, the verifier assumes the contrary: both must do.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <sstream>

#include "algorithms/registry.hpp"
#include "schedule/contract.hpp"
#include "schedule/text.hpp"
#include "schedule/verify.hpp"

namespace omnes {
namespace {

using Random = std::mt19937;

int below(Random& random, std::size_t end) { return static_cast<int>(random() % end); }

std::string contribution(int rank, int block) { return std::to_string(rank) + ":" + std::to_string(block); }

/// One rank: blocks are texts, such as "2:0" for block 0 of rank 2 and "(0:0 1:0)" for two of them combined.
struct Rank {
  const Schedule* schedule;
  std::vector<std::string> blocks[3];
  std::vector<int> left;  // per op: messages or blocks to go

  explicit Rank(const Schedule& s) : schedule(&s) {
    for (const Buffer buffer : {Buffer::send, Buffer::recv})
      for (int i = 0; i < blocks_in(s.problem, s.pieces, buffer); ++i) {
        const auto origin = initial(s.problem, s.pieces, buffer, i);
        in(buffer).push_back(origin ? contribution(origin->rank, origin->block) : "?");
      }
    blocks[2].assign(s.temp.size(), "?");
    for (const Op& op : s.ops) left.push_back(op.kind == OpKind::send ? targets(op) : std::max(1, op.dst.count));
  }
  std::vector<std::string>& in(Buffer buffer) { return blocks[static_cast<int>(buffer)]; }
  std::string& at(Blocks run, int i) { return in(run.buffer)[run.first + i]; }
  int targets(const Op& op) const { return op.published ? 1 : static_cast<int>(schedule->peers_of(op).size()); }
  bool started(int op) const {
    return std::ranges::all_of(schedule->deps_of(schedule->ops[op]), [&](auto dep) { return left[dep] == 0; });
  }
};

/// A queue of one block: from one rank to one, or of a rank's publishes to all others.
struct Channel {
  int from;
  std::vector<int> readers;
  std::vector<int> sends;                  // ops
  std::vector<std::vector<int>> receives;  // ops, per reader
  std::size_t send = 0;                    // the current one, and its next block
  int send_block = 0;
  std::vector<std::size_t> receive;
  std::vector<int> receive_block;
  std::string content;
  std::vector<bool> waiting;  // readers that have not taken it
  Channel(int from, std::vector<int> to)
      : from(from),
        readers(std::move(to)),
        receives(readers.size()),
        receive(readers.size()),
        receive_block(readers.size()),
        waiting(readers.size()) {}
};

class World {
 public:
  World(const std::vector<Schedule>& schedules, Random& random) : random_(random) {
    const int p = static_cast<int>(schedules.size());
    for (const Schedule& schedule : schedules) ranks_.emplace_back(schedule);
    for (int from = 0; from < p; ++from) {
      std::vector<int> others(p);
      std::iota(others.begin(), others.end(), 0);
      std::erase(others, from);
      for (const int to : others) add(Channel(from, {to}), false);
      add(Channel(from, others), true);
    }
  }

  /// Runs until nothing can move. Whether all is done.
  bool run() {
    for (bool moved = true, hesitant = true; moved || hesitant;) {
      hesitant = moved;  // some wait although they could go on, unless nobody did last time
      moved = false;
      const auto goes = [&] { return !hesitant || random_() % 2 == 0; };
      std::ranges::shuffle(channels_, random_);
      for (Channel& channel : channels_)
        if (goes()) moved |= random_() % 2 == 0 ? write(channel) || read(channel) : read(channel) || write(channel);
      for (Rank& rank : ranks_)
        if (goes()) moved |= compute(rank);
    }
    return std::ranges::all_of(
        ranks_, [](const Rank& rank) { return std::ranges::all_of(rank.left, [](int left) { return left == 0; }); });
  }

  const std::vector<std::string>& result(int rank) { return ranks_[rank].in(Buffer::recv); }

 private:
  void add(Channel channel, bool published) {
    const auto& ops = ranks_[channel.from].schedule->ops;
    for (int i = 0; i < std::ssize(ops); ++i) {
      if (ops[i].kind != OpKind::send || ops[i].published != published) continue;
      const auto peers = ranks_[channel.from].schedule->peers_of(ops[i]);
      if (published || std::ranges::count(peers, channel.readers[0]) > 0) channel.sends.push_back(i);
    }
    for (std::size_t r = 0; r < channel.readers.size(); ++r) {
      const auto& theirs = ranks_[channel.readers[r]].schedule->ops;
      for (int i = 0; i < std::ssize(theirs); ++i)
        if (theirs[i].peer == channel.from && theirs[i].kind != OpKind::send && theirs[i].published == published)
          channel.receives[r].push_back(i);
    }
    channels_.push_back(std::move(channel));
  }

  bool write(Channel& channel) {
    if (channel.send == channel.sends.size() || std::ranges::count(channel.waiting, true) > 0) return false;
    Rank& rank = ranks_[channel.from];
    const int id = channel.sends[channel.send];
    const Op& op = rank.schedule->ops[id];
    if (!rank.started(id)) return false;
    if (op.a.count > 0) channel.content = rank.at(op.a, channel.send_block);
    channel.waiting.assign(channel.readers.size(), true);
    if (++channel.send_block >= op.a.count) {
      channel.send_block = 0;
      ++channel.send;
      --rank.left[id];
    }
    return true;
  }

  bool read(Channel& channel) {
    const auto count = static_cast<int>(channel.readers.size());
    for (int i = 0, first = below(random_, count + 1); i < count; ++i)
      if (read(channel, (first + i) % count)) return true;
    return false;
  }

  bool read(Channel& channel, int r) {
    if (!channel.waiting[r]) return false;
    Rank& rank = ranks_[channel.readers[r]];
    const int id = channel.receives[r][channel.receive[r]];
    const Op& op = rank.schedule->ops[id];
    if (!rank.started(id)) return false;
    const int i = channel.receive_block[r];
    if (op.dst.count > 0) rank.at(op.dst, i) = arrived(rank, op, i, channel.content);
    channel.waiting[r] = false;
    --rank.left[id];
    if (++channel.receive_block[r] >= op.dst.count) {
      channel.receive_block[r] = 0;
      ++channel.receive[r];
    }
    return true;
  }

  static std::string arrived(Rank& rank, const Op& op, int i, const std::string& incoming) {
    if (op.kind == OpKind::recv) return incoming;
    const std::string& a = rank.at(op.a, i);
    return op.incoming_first ? "(" + incoming + " " + a + ")" : "(" + a + " " + incoming + ")";
  }

  bool compute(Rank& rank) {
    const auto count = static_cast<int>(rank.left.size());
    for (int i = 0, first = below(random_, count + 1); i < count; ++i)
      if (compute(rank, (first + i) % count)) return true;
    return false;
  }

  bool compute(Rank& rank, int id) {
    const Op& op = rank.schedule->ops[id];
    if ((op.kind != OpKind::copy && op.kind != OpKind::reduce) || rank.left[id] == 0 || !rank.started(id)) return false;
    const int i = --rank.left[id];
    const std::string a = rank.at(op.a, i);
    rank.at(op.dst, i) = op.kind == OpKind::copy ? a : "(" + a + " " + rank.at(op.b, i) + ")";
    return true;
  }

  Random& random_;
  std::vector<Rank> ranks_;
  std::vector<Channel> channels_;
};

/// The operands of "((0:0 1:0) 2:0)", in order.
std::vector<std::string> operands(std::string text) {
  std::ranges::replace(text, '(', ' ');
  std::ranges::replace(text, ')', ' ');
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Empty, or what a rank ended with that was not promised.
std::string wrong_result(const std::vector<Schedule>& schedules, World& world, bool ordered) {
  for (const Schedule& schedule : schedules)
    for (int block = 0; block < std::ssize(world.result(schedule.problem.rank)); ++block) {
      const std::string& found = world.result(schedule.problem.rank)[block];
      const Promise promise = promised(schedule.problem, schedule.pieces, block);
      std::vector<std::string> wanted, there = operands(found);
      for (int rank = 0; rank < schedule.problem.p; ++rank)
        if (promise.combined > 0 ? rank < promise.combined : promise.rank == rank)
          wanted.push_back(contribution(rank, promise.block));
      if (!ordered) std::ranges::sort(there), std::ranges::sort(wanted);
      if (there != wanted || (schedule.problem.operation == Operation::allreduce && found != world.result(0)[block]))
        return "rank " + std::to_string(schedule.problem.rank) + " " + to_text(recv_blocks(block)) + ": " + found;
    }
  return {};
}

std::string texts(const std::vector<Schedule>& schedules) {
  std::string text;
  for (const Schedule& schedule : schedules) text += to_text(schedule);
  return text;
}

void expect_works(const std::vector<Schedule>& schedules, bool ordered, Random& random) {
  for (int i = 0; i < 4; ++i) {
    World world(schedules, random);
    ASSERT_TRUE(world.run()) << "stuck:\n" << texts(schedules);
    ASSERT_EQ(wrong_result(schedules, world, ordered), "") << texts(schedules);
  }
}

/// Exchanges op `at` with the next one, which must not depend on it.
void exchange(Schedule& schedule, std::uint32_t at) {
  std::swap(schedule.ops[at], schedule.ops[at + 1]);
  for (std::uint32_t& dep : schedule.deps)
    if (dep == at || dep == at + 1) dep = 2 * at + 1 - dep;
}

/// One small change to one op, if it has what is to be changed.
void spoil(Schedule& schedule, Random& random) {
  if (schedule.ops.empty()) return;
  const auto at = static_cast<std::uint32_t>(below(random, schedule.ops.size()));
  Op& op = schedule.ops[at];
  Blocks& run = op.kind == OpKind::send || (op.a.count > 0 && random() % 2 == 0) ? op.a : op.dst;
  switch (below(random, 7)) {
    case 0:
      if (op.dep_count > 0) --op.dep_count;
      break;
    case 1:
      if (op.dep_count > 0) ++op.first_dep, --op.dep_count;
      break;
    case 2:
      if (op.peer >= 0) op.peer = below(random, schedule.problem.p);
      break;
    case 3: run.first += random() % 2 == 0 ? 1 : -1; break;
    case 4: run.buffer = static_cast<Buffer>(below(random, 3)); break;
    case 5:
      if (op.kind == OpKind::recv_reduce) op.incoming_first = !op.incoming_first;
      break;
    case 6:
      if (at + 1 < schedule.ops.size() && std::ranges::count(schedule.deps_of(schedule.ops[at + 1]), at) == 0)
        exchange(schedule, at);
      break;
  }
}

TEST(Random, WhatPassesWorks) {
  Random random(1);
  int passed = 0, rejected = 0;
  for (const Algorithm* algorithm : catalogue())
    for (int p = 1; p <= 5; ++p) {
      Problem problem{.operation = algorithm->operation, .p = p, .root = p / 2};
      if (!why_not(*algorithm, problem, true).empty()) continue;
      std::vector<Schedule> schedules;
      for (; problem.rank < p; ++problem.rank) schedules.push_back(build(*algorithm, problem));
      expect_works(schedules, algorithm->ordered, random);
      for (int i = 0; i < 100; ++i) {
        std::vector<Schedule> spoilt = schedules;
        spoil(spoilt[below(random, p)], random);
        if (spoilt == schedules) continue;
        const bool passes = !verify(spoilt, {.ordered = algorithm->ordered});
        ++(passes ? passed : rejected);
        if (passes) expect_works(spoilt, algorithm->ordered, random);
        if (HasFatalFailure()) return;
      }
    }
  // Some changes do no harm; most do.
  EXPECT_GT(passed, 100);
  EXPECT_GT(rejected, passed);
}

}  // namespace
}  // namespace omnes
