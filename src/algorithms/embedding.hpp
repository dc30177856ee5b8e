// Embedding: the schedule of a group's operation becomes a part of a larger one.
//
// How. The group's schedule is built by any algorithm of the catalogue, as if the group were alone. Its ops are added
// to the larger schedule one by one: its ranks become real ones, each of its blocks a run of the larger one's blocks.
// Its dependencies are kept, and the builder adds those between what is embedded and what is around it; so a message
// goes on to the next level as soon as it has arrived from this one. What became empty: messages without blocks are
// still sent, as they may be there to synchronise; reductions and copies of nothing vanish, and those who waited for
// them wait for what they waited for. A publish goes to the set of the group's other ranks, where that is not all there
// are.
#pragma once

#include <functional>

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// Where the inner schedule's blocks lie: block i is the blocks first + starts[i] .. first + starts[i + 1] - 1 of
/// `buffer`.
struct View {
  Buffer buffer = Buffer::send;
  std::int32_t first = 0;
  std::vector<std::int32_t> starts = {0};

  Blocks operator()(Blocks inner) const;
};
/// `blocks`, cut into so many nearly equal runs.
View cut_evenly(Blocks blocks, int runs);
/// `blocks` as one.
inline View whole(Blocks blocks) { return {blocks.buffer, blocks.first, {0, blocks.count}}; }

struct Embedding {
  std::vector<std::int32_t> ranks;  ///< the group's
  View send, recv;
  /// The sizes of the blocks that an inner temporary block stands for.
  std::function<void(Like inner, std::vector<Like>& sizes)> sizes;
};

void embed(Builder& b, const Schedule& inner, const Embedding& embedding);

}  // namespace omnes::inline algorithms
