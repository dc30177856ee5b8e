// Which way messages take through shared memory, where the user does not say: all numbers that depend on the processor.
//
// "Fast caches" are those of AMD processors, which pass lines from core to core fast. Measured on 2 cores:
//
// | number         | fast caches, own CPUs | else          | what was measured, and where                                |
// |----------------|-----------------------|---------------|-------------------------------------------------------------|
// | slots          | 64                    | 2 per reader, | EPYC Zen 4, 5, 2 ranks, bcast of 16 KiB: 0.96 us, with 8    |
// |                |                       | at least 8    | slots 2.5: until a slot's turn comes again, its lines have  |
// |                |                       |               | left the caches of both cores, and are taken from the       |
// |                |                       |               | common one. Else, 16 ranks, alltoall of 1 KiB: 138 us, with |
// |                |                       |               | 8 slots 440: who sends to all may start the next call       |
// |                |                       |               | before its slowest reader has come; more were slower        |
// | bytes of a     | 32 KiB                | 32 KiB        | EPYC Zen 3, from 16 KiB on, against the source paper's      |
// | slot           |                       |               | 8 KiB: 1.25 times as fast with 4 ranks, 1.14 with 8, 1.0 to |
// |                |                       |               | 1.1 with 2                                                  |
// | single copy    | never up to 8 ranks,  | 96 KiB        | EPYC Zen 4, 5, 2 ranks, gather of 64 KiB: 3.7 us by slots,  |
// | from           | in blocking calls     |               | 7.2 by the system, of 1 MiB: 54 and 87. Xeon: alike at      |
// |                |                       |               | 96 KiB. What does not block is taken without its sender     |
// | direct copy    | 16 KiB                | 32 KiB        | where ranks share CPUs the sender waits until all readers   |
// | from           |                       |               | have had their turns                                        |
// | adopted from   | 256 KiB               | 32 KiB; 64    | Zen 5, 2 ranks: 128 KiB adopted took up to 1.3 times as     |
// |                |                       | where CPUs    | long. Xeon, 2 ranks, 64 KiB: bcast 3.8 us, not adopted 7.2, |
// |                |                       | are shared    | neighbor_allgather 9.2 and 17.8; 32 KiB: 2.7 and 4.9, 5.7   |
// |                |                       |               | and 12.1, alltoall and reduce 5.6 and 5.3                   |
//
// Slots stay within 32 MiB for all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/shm/geometry.hpp"

namespace omnes::shm {

/// Whether this processor is an AMD.
extern const bool caches_are_fast;

/// Who shares a segment, and for what.
struct Sharing {
  int ranks = 2;
  bool own_cpus = true;  ///< no two of them share a CPU
  bool blocking = true;  ///< it carries blocking calls
  bool fast_caches = caches_are_fast;
};

inline constexpr std::size_t never = SIZE_MAX;  ///< as a cutoff
inline constexpr int min_slots = 2, max_slots = 64;
inline constexpr std::size_t usual_single_copy_from = 96 * 1024;

/// What the user has said; the rest is as above.
struct Policy {
  std::optional<int> slots;  ///< in a rank's queue
  std::size_t slot_bytes = 32 * 1024;
  std::optional<std::size_t> single_copy, direct_copy;  ///< cutoffs in bytes

  int slots_for(const Sharing& sharing) const;
  Geometry geometry_for(const Sharing& sharing, int lanes = 1, int short_lanes = 0) const;
  /// Messages are read by a system call.
  std::size_t single_copy_from(const Sharing& sharing) const;
  /// Messages that lie in a heap are read in place.
  std::size_t direct_copy_from(const Sharing& sharing) const;
  /// Buffers that come back are adopted (heap/adoption.hpp).
  static std::size_t adopt_from(const Sharing& sharing);
};

}  // namespace omnes::shm
