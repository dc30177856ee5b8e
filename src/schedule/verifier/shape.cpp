// Shape: every op by itself is well formed, and all schedules solve the same problem.
#include <algorithm>
#include <set>
#include <utility>

#include "schedule/builder.hpp"
#include "schedule/contract.hpp"
#include "schedule/text.hpp"
#include "schedule/verifier/group.hpp"

namespace omnes::verifier {

namespace {

std::string str(std::int64_t number) { return std::to_string(number); }

bool overlap(Blocks x, Blocks y) {
  return x.buffer == y.buffer && x.first < y.first + y.count && y.first < x.first + x.count;
}

/// Looks at the ops of one rank.
class Shape {
 public:
  Shape(const Schedule& schedule, int rank) : schedule_(schedule), problem_(schedule.problem), rank_(rank) {}

  std::optional<Finding> check() {
    if (check_temp()) return found_;
    for (op_ = 0; op_ < static_cast<int>(schedule_.ops.size()); ++op_) {
      const Op& op = schedule_.ops[op_];
      if (check_pools(op) || check_ranks(op) || check_runs(op) || check_sizes(op) || check_overlap(op)) return found_;
    }
    return std::nullopt;
  }

 private:
  bool fail(std::string message, std::string block = {}) {
    found_ = Finding{rank_, op_, std::move(block), std::move(message)};
    return true;
  }

  bool check_temp() {
    const int blocks = data_blocks(problem_, schedule_.pieces);
    for (std::size_t i = 0; i < schedule_.temp.size(); ++i) {
      const auto [block, rank] = schedule_.temp[i];
      const std::string what = to_text(Blocks{Buffer::temp, static_cast<std::int32_t>(i), 1});
      if (block < 0 || block >= blocks)
        return fail("has the size of data block " + str(block) + ", but there are only " + str(blocks), what);
      if (rank == problem_.rank) continue;
      if (!sized_by_pairs(problem_.operation))
        return fail("has the size of a block at rank " + str(rank) + ", as only alltoallv and alltoallw may have",
                    what);
      if (rank < 0 || rank >= problem_.p)
        return fail("has the size of a block at rank " + str(rank) + ", but ranks are 0.." + str(problem_.p - 1), what);
    }
    return false;
  }

  bool check_pools(const Op& op) {
    const std::uint64_t deps_end = std::uint64_t{op.first_dep} + op.dep_count;
    const std::uint64_t peers_end = std::uint64_t{op.first_peer} + op.peer_count;
    if (deps_end > schedule_.deps.size()) return fail("its dependencies lie outside the pool");
    if (peers_end > schedule_.peers.size()) return fail("its peers lie outside the pool");
    for (const std::uint32_t dep : schedule_.deps_of(op))
      if (dep >= static_cast<std::uint32_t>(op_)) return fail("depends on op " + str(dep) + ", which is not before it");
    return false;
  }

  bool check_ranks(const Op& op) {
    const bool sends = op.kind == OpKind::send;
    const bool receives = op.kind == OpKind::recv || op.kind == OpKind::recv_reduce;
    if (op.peer_count > 0 && (!sends || op.published || op.peer != -1))
      return fail("only a plain send has a set of peers");
    if (op.published && !sends && !receives) return fail("is published but is not a message");
    if (op.incoming_first && op.kind != OpKind::recv_reduce) return fail("has no incoming operand that could be first");
    const auto peers = schedule_.peers_of(op);
    const bool names_one = receives || (sends && !op.published);
    if (names_one && peers.empty()) return fail("names no rank to exchange with");
    if (!names_one && !peers.empty()) return fail("names a rank where it may not");
    for (const std::int32_t peer : peers) {
      if (peer < 0 || peer >= problem_.p) return fail("rank " + str(peer) + " is not in 0.." + str(problem_.p - 1));
      if (peer == rank_) return fail("exchanges with itself");
    }
    seen_.assign(peers.begin(), peers.end());
    std::sort(seen_.begin(), seen_.end());
    const auto twice = std::adjacent_find(seen_.begin(), seen_.end());
    if (twice != seen_.end()) return fail("sends to rank " + str(*twice) + " twice");
    return false;
  }

  bool check_runs(const Op& op) {
    const bool has_dst = op.kind != OpKind::send;
    if (check_run(op.a, op.kind != OpKind::recv) || check_run(op.b, op.kind == OpKind::reduce)) return true;
    if (check_run(op.dst, has_dst)) return true;
    const bool joins = op.kind == OpKind::copy && op.dep_count > 0;
    const bool may_be_empty = op.kind == OpKind::send || op.kind == OpKind::recv || joins;
    if (!may_be_empty && op.dst.count == 0) return fail("touches no block");
    if (op.dst.count > 0 && !writable(problem_, op.dst.buffer))
      return fail("writes a buffer that may only be read", to_text(op.dst));
    return false;
  }

  bool check_run(Blocks run, bool used) {
    if (!used && run != Blocks{}) return fail("names blocks that this kind of op does not use", to_text(run));
    const int blocks = run.buffer == Buffer::temp ? static_cast<int>(schedule_.temp.size())
                                                  : blocks_in(problem_, schedule_.pieces, run.buffer);
    if (run.first >= 0 && run.count >= 0 && run.count <= blocks && run.first <= blocks - run.count) return false;
    return fail("lies outside the buffer (blocks here: " + str(blocks) + ")", to_text(run));
  }

  /// The operands of a reduction or copy: as many blocks as dst, of the same sizes.
  bool check_sizes(const Op& op) {
    if (op.kind == OpKind::send || op.kind == OpKind::recv) return false;
    return check_alike(op.a, op.dst) || (op.kind == OpKind::reduce && check_alike(op.b, op.dst));
  }

  bool check_alike(Blocks from, Blocks dst) {
    if (from.count != dst.count) return fail("has another number of blocks than " + to_text(dst), to_text(from));
    for (int i = 0; i < from.count; ++i) {
      const SizeClass size = size_class(schedule_, from, i), dst_size = size_class(schedule_, dst, i);
      if (size != dst_size)
        return fail("has the size of " + to_text(schedule_, size) + " where " + to_text(sub(dst, i)) + " has that of " +
                        to_text(schedule_, dst_size),
                    to_text(sub(from, i)));
    }
    return false;
  }

  bool check_overlap(const Op& op) {
    const bool may_equal = op.kind != OpKind::copy;
    for (const Blocks from : {op.a, op.b})
      if (overlap(from, op.dst) && !(may_equal && from == op.dst))
        return fail("overlaps " + to_text(from) + ", which the op reads", to_text(op.dst));
    return false;
  }

  const Schedule& schedule_;
  const Problem& problem_;
  int rank_;
  int op_ = -1;
  std::vector<std::int32_t> seen_;
  std::optional<Finding> found_;
};

/// Each edge that comes in is one that its source has going out to this rank, and no two are the same.
std::optional<Finding> check_neighbors(std::span<const Schedule> schedules, std::size_t rank) {
  const Problem& problem = schedules[rank].problem;
  if (!among_neighbors(problem.operation)) return std::nullopt;
  const Neighbors& here = problem.neighbors;
  std::set<std::pair<int, int>> seen;
  for (std::size_t i = 0; i < here.sources.size(); ++i) {
    const int source = here.sources[i], port = i < here.ports.size() ? here.ports[i] : -1;
    const bool exists = source >= 0 && source < problem.p;
    const auto* there = exists ? &schedules[source].problem.neighbors.destinations : nullptr;
    const bool edge = there && port >= 0 && port < static_cast<int>(there->size()) &&
                      (*there)[port] == static_cast<int>(rank) && seen.insert({source, port}).second;
    if (!edge)
      return Finding{static_cast<int>(rank),
                     -1,
                     {},
                     "source " + str(source) + " has no destination number " + str(port) + " that leads here"};
  }
  return std::nullopt;
}

std::optional<Finding> check_heads(std::span<const Schedule> schedules) {
  const auto fail = [](std::size_t rank, std::string message) {
    return Finding{static_cast<int>(rank), -1, {}, std::move(message)};
  };
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    const Schedule &first = schedules[0], &schedule = schedules[rank];
    const Problem& problem = schedule.problem;
    if (problem.p != static_cast<int>(schedules.size()))
      return fail(rank, "is for " + str(problem.p) + " ranks, but there are " + std::to_string(schedules.size()) +
                            " schedules");
    if (problem.rank != static_cast<int>(rank)) return fail(rank, "is the schedule of rank " + str(problem.rank));
    if (problem.operation != first.problem.operation) return fail(rank, "is of another operation than rank 0's");
    if (problem.root != first.problem.root) return fail(rank, "has another root than rank 0's");
    if (problem.first_group != first.problem.first_group) return fail(rank, "has other groups than rank 0's");
    if (problem.first_group < 0 || problem.first_group >= problem.p)
      return fail(rank, "has a first group of " + str(problem.first_group) + " ranks of " + str(problem.p));
    if (auto finding = check_neighbors(schedules, rank)) return finding;
    if (problem.root < 0 || problem.root >= problem.p)
      return fail(rank, "root " + str(problem.root) + " is not in 0.." + str(problem.p - 1));
    if (schedule.pieces < 1) return fail(rank, "cuts parts into " + str(schedule.pieces) + " pieces");
    if (schedule.pieces != first.pieces)
      return fail(rank, "cuts parts into " + str(schedule.pieces) + " pieces, rank 0 into " + str(first.pieces));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> check_shape(std::span<const Schedule> schedules) {
  if (schedules.empty()) return Finding{-1, -1, {}, "there are no schedules"};
  if (auto finding = check_heads(schedules)) return finding;
  for (std::size_t rank = 0; rank < schedules.size(); ++rank)
    if (auto finding = Shape(schedules[rank], static_cast<int>(rank)).check()) return finding;
  return std::nullopt;
}

}  // namespace omnes::verifier
