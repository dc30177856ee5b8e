// One message through the groups of a hierarchy: combined on the way up, spread on the way down, in each group by any
// algorithm of the catalogue.
//
// Segments. An algorithm that takes segments and nothing else from the message's length, as trees do, gets them all;
// any other runs once for each segment. All that one level does is listed before what the next one does, but only
// blocks say what waits for what: while a segment is at the widest level, the next one is still being combined below
// it, and the one before it on its way down.
// Slices. With k leaders the message is cut into k slices, and each has representatives of its own: k ranks of a unit
// carry messages out of it.
#pragma once

#include "algorithms/levels.hpp"

namespace omnes::inline algorithms {

class MessageLevels {
 public:
  /// Cuts the message as all levels need it: radix() slices of segments() segments. `root` represents all units that it
  /// is in; -1: there is none.
  MessageLevels(Builder& b, const Phases& phases, int root = -1);
  /// For a message of so many blocks (0: none, all of each step comes before all of the next), which are data blocks 0,
  /// 1, ...: one slice, one segment.
  MessageLevels(Builder& b, const Phases& phases, int root, int blocks);

  /// Whether this rank represents some unit, and so needs room for sums.
  bool leads() const;
  bool in_last_group() const { return in_group(slices_.front(), last_); }

  /// Combines the ranks' `own` in `into` at the representatives, up to the last group; where that has an operation of
  /// its own, before it. `into` is not touched where this rank does not lead.
  void up(Blocks own, Blocks into);
  /// The last group's own operation, allreduce or barrier, in `into`.
  void across(Blocks into);
  /// Spreads what the representatives have in `message`.
  void down(Blocks message);

  /// Where the contribution of the ranks for whom this one speaks lies, after up(): what was `own`, or in `into`.
  Blocks sum(Blocks own, Blocks into) const { return slices_.front().sum == Place::own ? own : into; }

 private:
  enum class Place { own, into };
  struct Slice {
    std::vector<Group> groups;
    int first = 0, count = 0;  // of the message's blocks
    Place sum = Place::own;
  };
  bool in_group(const Slice& slice, std::size_t level) const { return slice.groups.size() > level; }
  void run(Operation operation, const Slice& slice, std::size_t level, Blocks from, Blocks into);

  Builder& b_;
  Phases phases_;
  std::size_t last_;    // the last level
  std::size_t shared_;  // levels that go up and down: all, or all but the last
  bool steps_ = false;
  Blocks own_;
  std::vector<Slice> slices_;
};

}  // namespace omnes::inline algorithms
