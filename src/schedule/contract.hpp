// The contract of each operation: what its buffers hold at the start, what they must hold at the end, and what may be
// written. The table of docs/design.md as functions.
#pragma once

#include <optional>

#include "schedule/schedule.hpp"

namespace omnes {

/// One block of one rank's contribution.
struct Origin {
  int rank = 0;
  int block = 0;
  bool operator==(const Origin&) const = default;
};

/// Blocks of one rank's contribution (for bcast and scatter: of the root's; the others contribute nothing).
int contributed_blocks(Operation operation, int p, int pieces);

/// What a block holds when the operation starts; nullopt: nothing defined.
std::optional<Origin> initial(const Problem& problem, int pieces, Buffer buffer, int block);

/// What a block of `recv` must hold at the end: a block of one contribution, or that block of all of them combined.
struct Promise {
  static constexpr int everyone = -1;
  int rank = everyone;
  int block = 0;
};
Promise promised(const Problem& problem, int pieces, int block);

/// Whether ops may write the buffer. MPI's send buffers are const, and so is what the root of bcast sends.
bool writable(const Problem& problem, Buffer buffer);

/// Blocks of one class have equal sizes: all parts are alike, but the pieces of a part may differ by an element.
/// The class of block `i` of a run is the piece whose size it has.
int size_class(const Schedule& schedule, Blocks run, int i);

}  // namespace omnes
