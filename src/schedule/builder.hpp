// The builder: algorithms write their ops in program order, and the dependencies follow from the blocks they touch.
//
// How: per block it remembers the last writer and the readers since. An op that reads a block depends on its last writer; an op that writes
// a block depends on its last writer and on those readers. step() adds what data does not show (barriers); where many ops
// end before many begin, all of one side wait for one op that does nothing, and all of the other side for that one.
// Cost: O(ops * blocks touched), no memory per rank of the group.
#pragma once

#include <algorithm>

#include "base/assert.hpp"
#include "schedule/schedule.hpp"
#include "schedule/tally.hpp"

namespace omnes {

/// Who sends a part, and to whom.
struct Pair {
  int from = 0;
  int to = 0;
};

/// How much of a schedule is recorded: all, or, in time and memory of its ops alone, not what they must wait for.
enum class Detail { whole, ops };

class Builder {
 public:
  explicit Builder(const Problem& problem, Detail detail = Detail::whole);
  /// Records nothing, but counts what is sent.
  Builder(const Problem& problem, Tally& tally);

  const Problem& problem() const { return schedule_.problem; }
  int p() const { return schedule_.problem.p; }
  int rank() const { return schedule_.problem.rank; }
  int root() const { return schedule_.problem.root; }
  int segments() const { return schedule_.problem.segments; }
  /// Rank relative to the root: the root is 0.
  int vrank() const { return (rank() - root() + p()) % p(); }
  /// The rank whose vrank is v (any integer, taken modulo p).
  int real(int v) const { return ((v + root()) % p() + p()) % p(); }

  /// Cut every part into so many blocks. Call it first, at most once; default 1.
  void cut(int pieces);
  int pieces() const { return schedule_.pieces; }

  /// All blocks of part `part` in a buffer that holds all parts; part(b, 0) in one that holds a single part.
  Blocks part(Buffer buffer, int part, int count = 1) const { return {buffer, part * pieces(), count * pieces()}; }
  /// Where this rank's own contribution to an operation with one part per rank lies: `send`, or `recv` when in place (all of it for reductions,
  /// the own part for gather and allgather).
  Blocks own() const;

  /// `count` new temporary blocks, block i with the size of data block `like + i`.
  Blocks temp(int count, int like = 0);
  /// New temporary blocks, one for each given data block.
  Blocks temp_like(std::span<const std::int32_t> data_blocks);
  /// New temporary blocks of these sizes.
  Blocks temp_sized(std::span<const Like> sizes);
  /// New temporary blocks for parts that pass through this rank, all pieces of one for each pair. Only where
  /// sized_by_pairs(), for algorithms that need all counts.
  Blocks temp_between(std::span<const Pair> pairs);

  void send(int to, Blocks what);
  void send(std::span<const std::int32_t> to, Blocks what);  ///< to a set; an empty set is no op
  void publish(Blocks what);                                 ///< to every other rank; no op when p = 1
  /// What `from` has sent to this rank, or published.
  void recv(int from, Blocks into, bool published = false);
  void recv_published(int from, Blocks into) { recv(from, into, true); }
  /// into <- a ∘ incoming
  void recv_reduce(int from, Blocks a, Blocks into, bool published = false);
  /// into <- incoming ∘ a
  void recv_reduce_first(int from, Blocks a, Blocks into, bool published = false);
  void copy(Blocks from, Blocks into);           ///< no op when both are the same
  void reduce(Blocks a, Blocks b, Blocks into);  ///< into <- a ∘ b

  /// An op of another schedule as it is, except for its peers and dependencies.
  void append(Op op, std::span<const std::int32_t> peers);

  /// Everything after this waits for everything before it.
  void step();
  /// The next op also waits for these, whatever blocks it touches.
  void after(std::span<const std::uint32_t> ops) {
    OMNES_ASSERT(std::ranges::all_of(ops, [&](std::uint32_t op) { return op < size(); }));
    awaited_.assign(ops.begin(), ops.end());
  }
  /// An op that does nothing but wait, for what after() says.
  void join();
  /// How many ops there are; the next one's number.
  std::uint32_t size() const { return static_cast<std::uint32_t>(schedule_.ops.size()); }

  Schedule finish();

 private:
  template <class LikeOf>
  Blocks add_temp(std::size_t count, const LikeOf& like_of);
  void add_receive(const Op& op);
  void add(Op op);
  void count(int to, Blocks what);
  struct Touch {
    std::int64_t writer = -1;
    std::vector<std::uint32_t> readers;
  };
  Touch& touch(Buffer buffer, std::int32_t block);

  Schedule schedule_;
  Detail detail_ = Detail::whole;
  Tally* tally_ = nullptr;  // null: ops are recorded
  std::vector<Touch> touched_[3];
  std::vector<std::uint32_t> scratch_, awaited_;
  std::size_t step_begin_ = 0;  // first op after the last step()
  std::size_t step_prev_ = 0;   // first op of the step before
};

/// Blocks first..first+count-1 of a run, counted from its start. An empty one stands for blocks that this rank does not
/// have: no part of it is used.
inline Blocks sub(Blocks blocks, int first, int count = 1) {
  OMNES_ASSERT(blocks.count == 0 || (first >= 0 && count >= 0 && first + count <= blocks.count));
  return {blocks.buffer, blocks.first + first, count};
}

}  // namespace omnes
