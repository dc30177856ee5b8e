// A schedule: what one rank does in one collective operation, as plain data.
//
// Overview: ops in program order, each touching runs of blocks of the rank's buffers, with explicit dependencies between
// them. No addresses, no datatypes, no transport: those are bound later (runtime/plan). docs/design.md has the vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace omnes {

enum class Operation : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce_scatter_block,
  reduce_scatter,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw
};
inline constexpr int operation_count = 22;
std::string_view name(Operation operation);
std::optional<Operation> operation_named(std::string_view name);

/// The operation with equal parts that does the same: gather for gatherv, reduce_scatter_block for reduce_scatter; itself for the others.
Operation regular(Operation operation);
/// True for operations whose parts may differ in size (gatherv, alltoallw, reduce_scatter ...).
inline bool unequal(Operation operation) { return regular(operation) != operation; }
/// Whether each rank knows the size of every part.
inline bool knows_parts(Operation operation) {
  return !unequal(operation) || operation == Operation::allgatherv || operation == Operation::reduce_scatter;
}
/// True for operations that combine contributions (reduce, allreduce, reduce_scatter, scan ...).
bool reduces(Operation operation);
/// True for operations with a root rank.
bool rooted(Operation operation);
/// True where what every rank sends to every other one has a size of its own (alltoallv, alltoallw).
bool sized_by_pairs(Operation operation);
/// True for operations along the edges of a communicator's topology.
bool among_neighbors(Operation operation);
/// True where MPI has an in-place form for some or all ranks and schedules have one too. (The in-place form of reduce_scatter reads and writes
/// different parts of one buffer; who calls it keeps the result apart.)
bool has_in_place(Operation operation);

enum class Buffer : std::uint8_t { send, recv, temp };
std::string_view name(Buffer buffer);

/// A run of `count` consecutive blocks of one buffer, starting at block `first`.
struct Blocks {
  Buffer buffer = Buffer::send;
  std::int32_t first = 0;
  std::int32_t count = 0;
  bool operator==(const Blocks&) const = default;
};
inline Blocks send_blocks(int first, int count = 1) { return {Buffer::send, first, count}; }
inline Blocks recv_blocks(int first, int count = 1) { return {Buffer::recv, first, count}; }

/// The edges of a topology at one rank, in the order of the buffers' parts. A rank may be its own neighbor, and a neighbor may come repeatedly.
struct Neighbors {
  std::vector<std::int32_t> sources;       ///< whom part i of `recv` comes from
  std::vector<std::int32_t> ports;         ///< which of that rank's destinations the edge is
  std::vector<std::int32_t> destinations;  ///< whom part i of `send` (neighbor_allgather: its only part) goes to
  bool operator==(const Neighbors&) const = default;
};

class Hierarchy;

/// Which algorithm runs in the groups of one level, where an algorithm is composed of others.
struct LevelAlgorithm {
  std::string level;
  std::string algorithm;
  int radix = 0;  ///< 0: the algorithm's default
  bool operator==(const LevelAlgorithm&) const = default;
};
using Composition = std::vector<LevelAlgorithm>;

/// What an algorithm is asked to solve, seen from one rank. The last two are advice for hierarchical algorithms: they say
/// how and not what, so a finished schedule's problem is without them.
struct Problem {
  Operation operation = Operation::barrier;
  int p = 1;                 ///< ranks in the group
  int rank = 0;              ///< this rank
  int root = 0;              ///< meaningful where rooted(operation)
  bool in_place = false;     ///< this rank's contribution lies in `recv` (scatter's root: stays in `send`)
  int radix = 0;             ///< tree arity and the like; 0 = the algorithm's default
  int segments = 1;          ///< pipelining: each natural unit of the algorithm is cut into so many blocks
  Neighbors neighbors = {};  ///< meaningful where among_neighbors(operation)
  /// Bcast, reduce, allreduce between two groups (an intercommunicator's): so many ranks are the first one, the others the second. Each
  /// group gets what the other contributes. 0: all are one group.
  int first_group = 0;
  std::shared_ptr<const Hierarchy> hierarchy = {};  ///< where ranks lie; null: nothing is known
  Composition composition = {};                     ///< levels that are not listed have defaults
  bool operator==(const Problem&) const = default;
};

enum class OpKind : std::uint8_t { send, recv, recv_reduce, copy, reduce };
std::string_view name(OpKind kind);

/// One step. Which fields mean something depends on `kind`:
///   send         peers <- a                     (several peers: a set; all other ranks: published)
///   recv         dst <- peer
///   recv_reduce  dst <- a ∘ incoming, or incoming ∘ a when incoming_first      (dst may equal a)
///   copy         dst <- a
///   reduce       dst <- a ∘ b                                                  (dst may equal a or b)
/// For send and recv an empty run (count 0) is a message without data, used to synchronise; a copy of nothing waits for
/// the ops that it depends on, in place of the ops that depend on it.
struct Op {
  OpKind kind = OpKind::copy;
  bool incoming_first = false;
  bool published = false;        ///< send: to all other ranks at once; recv, recv_reduce: of such a send
  std::int32_t peer = -1;        ///< recv, recv_reduce: from whom; send to one: to whom; else -1
  std::uint32_t first_peer = 0;  ///< send to a set: its place in Schedule::peers
  std::uint32_t peer_count = 0;
  Blocks a = {}, b = {}, dst = {};
  std::uint32_t first_dep = 0;  ///< its dependencies' place in Schedule::deps
  std::uint32_t dep_count = 0;
  bool operator==(const Op&) const = default;
};

/// The size of a temporary block: that of data block `block` (part * pieces + piece) of the buffer that holds all parts
/// at `rank`. That is the schedule's own rank; where sized_by_pairs(operation), any: so a piece of what the rank `part`
/// sends to `rank`.
struct Like {
  std::int32_t block = 0;
  std::int32_t rank = 0;
  bool operator==(const Like&) const = default;
};

struct Schedule {
  Problem problem;
  std::int32_t pieces = 1;          ///< blocks per part
  std::vector<Op> ops;              ///< in program order; deps point backwards only
  std::vector<std::int32_t> peers;  ///< pool of send sets
  std::vector<std::uint32_t> deps;  ///< pool of op indices
  std::vector<Like> temp;           ///< sizes of the temporary blocks

  /// The ranks that a send goes to; for a publish everyone but this rank is meant and the span is empty.
  std::span<const std::int32_t> peers_of(const Op& op) const {
    if (op.peer_count > 0) return {peers.data() + op.first_peer, op.peer_count};
    return {&op.peer, op.peer >= 0 ? std::size_t{1} : std::size_t{0}};
  }
  std::span<const std::uint32_t> deps_of(const Op& op) const { return {deps.data() + op.first_dep, op.dep_count}; }
  bool operator==(const Schedule&) const = default;
};

/// Consecutive ranks.
struct Range {
  int first = 0;
  int count = 0;
  bool has(int rank) const { return rank >= first && rank < first + count; }
};
/// The group of that one of p ranks, and the other one; where `first_group` is 0, all are one group, which both are.
Range group_of(int rank, int p, int first_group);
Range other_group(int rank, int p, int first_group);
inline Range group_of(int rank, const Problem& problem) { return group_of(rank, problem.p, problem.first_group); }
/// Those whose contributions that rank gets.
inline Range contributors_to(int rank, const Problem& problem) {
  return other_group(rank, problem.p, problem.first_group);
}

/// Blocks that a rank's buffer has for this problem (see the table in docs/design.md); temp is the schedule's own.
int blocks_in(const Problem& problem, int pieces, Buffer buffer);
/// Data blocks, as temporaries refer to them: of all parts of the operation.
int data_blocks(const Problem& problem, int pieces);
/// The buffer that holds all parts where one does.
Buffer buffer_of_all(Operation operation);
/// Whether temporary blocks have sizes that only other ranks know.
bool needs_all_counts(const Schedule& schedule);

}  // namespace omnes
