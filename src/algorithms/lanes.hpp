// Lanes: at every level of a hierarchy each rank works with those that are to their units what it is to its own, so that
// all ranks of a node carry messages out of it, and no one speaks for others.
//
// Overview. Where all units of a level have as many parts, the ranks of one node correspond to those of any other: they
// form as many lanes as a node has ranks. A message is divided among the lanes of the nearest level (scatter, or
// reduce_scatter), their slices again at the next; the widest level's operation runs in each lane with what that
// carries; and what was divided is put together again (allgather, or gather), the widest level first.
// How. A rank is a row of digits, its number in each of its groups. Divided into the parts of the nearest level's
// digit first, a slice and all that it is cut into are runs of blocks. For operations of one part per rank, parts lie in a
// table in that order.
#pragma once

#include <functional>

#include "algorithms/embedding.hpp"
#include "algorithms/levels.hpp"

namespace omnes::inline algorithms {

class MultiLane {
 public:
  explicit MultiLane(Builder& b);

  std::size_t last() const { return groups_.size() - 1; }
  /// The rank's group at a level, and the root's number in it.
  const Group& group(std::size_t level) const { return groups_[level]; }
  int root(std::size_t level) const { return roots_[level]; }
  /// Whether the rank is to all wider levels than this one what the root is.
  bool near_root(std::size_t level) const;

  /// Of a run of blocks: what is this rank's after the levels below `level` have divided it.
  Blocks slice(Blocks run, std::size_t level) const;
  /// How many slices the levels below `level` make.
  int slices(std::size_t level) const;

  /// An operation of the group of a level, on blocks that stand for the data blocks first, first + 1, ... of whichever
  /// side has more. `like`: their sizes.
  void run(Operation operation, std::size_t level, bool in_place, Blocks send, Blocks recv, int first,
           const std::function<Like(int)>& like);

 private:
  Builder& b_;
  std::vector<Group> groups_;
  std::vector<int> roots_;
};

/// A message that is divided among the lanes, in segments, each of which goes on as soon as it can.
class LaneMessage {
 public:
  /// Cuts it so that every level can divide its segments, and the last level's algorithm cut its slices.
  LaneMessage(Builder& b, Operation top);

  const MultiLane& lanes() const { return lanes_; }
  /// Contributions in `own` are combined slice by slice, up to the last level, which is left out.
  void reduce_scatter(Blocks own);
  /// The root's message to the ranks near it, a slice for each.
  void scatter();
  /// The last level's operation in each lane: of what was combined, if so, else of the slices in `message`; to there.
  void across(Operation operation, Blocks message);
  /// The slices in `message`, to all of them, which have it in `into` then; or in `message`, to the root.
  void allgather(Blocks message, Blocks into);
  void gather(Blocks message);

 private:
  template <class Step>
  void each_segment(const Step& step);
  void run(Operation operation, std::size_t level, bool in_place, Blocks send, Blocks recv, int first);

  Builder& b_;
  MultiLane lanes_;
  std::vector<Blocks> sums_;  // of each segment, where contributions were combined
};

/// Parts in the order in which levels divide them, the nearest first: a table of all ranks' parts.
class LaneTable {
 public:
  LaneTable(Builder& b, const Hierarchy& hierarchy);

  int rank_at(int row) const { return ranks_[row]; }
  /// The table of a buffer of parts: itself where it is in that order, else temporary blocks, filled from it if so asked.
  Blocks table_of(Buffer buffer, bool filled);
  /// From there to the buffer, unless it is the buffer.
  void unpack(Blocks table, Buffer buffer);
  Like like(int row) const { return {ranks_[row], b_.rank()}; }

 private:
  Builder& b_;
  std::vector<int> ranks_;  // of each row
  bool in_rank_order_;
};

}  // namespace omnes::inline algorithms
