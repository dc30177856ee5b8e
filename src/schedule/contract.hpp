// The contract of each operation: what its buffers hold at the start, what they must hold at the end, and what may be
// written. The table of docs/design.md as functions.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/schedule.hpp"

namespace omnes {

/// One block of one rank's contribution.
struct Origin {
  int rank = 0;
  int block = 0;
  bool operator==(const Origin&) const = default;
};

/// Blocks of this rank's contribution (bcast and scatter: what the root's would have; the others contribute nothing).
int contributed_blocks(const Problem& problem, int pieces);

/// What a block holds when the operation starts; nullopt: nothing defined.
std::optional<Origin> initial(const Problem& problem, int pieces, Buffer buffer, int block);

/// What a block of `recv` must hold at the end: a block of one contribution, or that block of the contributions of the
/// `combined` ranks from `rank` on combined; or nothing is promised (exscan at rank 0).
struct Promise {
  int rank = 0;
  int block = 0;
  int combined = 0;  ///< 0: the block of `rank` alone
  bool nothing = false;
  bool operator==(const Promise&) const = default;
};
Promise promised(const Problem& problem, int pieces, int block);

/// Whether ops may write the buffer. MPI's send buffers are const, and so is what the root of bcast sends.
bool writable(const Problem& problem, Buffer buffer);

/// Blocks of one class have equal sizes, on whatever ranks. Where all parts are alike, the class is the piece (the pieces of a part may differ by an
/// element); where parts may be unequal, each piece of each part is a class of its own.
using SizeClass = std::int64_t;
/// The class of block `i` of a run.
SizeClass size_class(const Schedule& schedule, Blocks run, int i);
/// "piece 2", or "piece 0 of part 3 of rank 1" for unequal parts between pairs of ranks.
std::string to_text(const Schedule& schedule, SizeClass size);

}  // namespace omnes
