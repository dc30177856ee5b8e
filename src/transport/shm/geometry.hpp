// Sizes of a shared-memory segment. The defaults are those of the source paper (sharm).
#pragma once

#include <cstddef>
#include <string>

namespace omnes::shm {

struct Geometry {
  int p = 1;                      ///< ranks that share the segment
  int slots = 8;                  ///< s: slots in a rank's queue
  std::size_t slot_bytes = 8192;  ///< f: bytes in a slot (fragment), a multiple of 64
  int lanes = 1;                  ///< independent sets of queues; what one carries never waits for another
  int short_lanes = 0;            ///< more of them, for short messages: of fewer and shorter slots

  /// Depth of the ring from one rank to another, a power of two: at least s, and more where few ranks leave room, so that a sender of tiny
  /// messages may run ahead.
  std::size_t pair_lines() const;
  /// a: control bytes for each slot; whole pages, enough for the lines that p readers need.
  std::size_t control_bytes() const;
  std::size_t region_bytes() const { return static_cast<std::size_t>(slots) * (slot_bytes + control_bytes()); }
  std::size_t lane_bytes() const { return static_cast<std::size_t>(p) * region_bytes(); }
  int all_lanes() const { return lanes + short_lanes; }
  /// The sizes of a lane, short or not, as of a segment that has no other.
  Geometry of_lane(int lane) const;
  std::size_t offset_of_lane(int lane) const;  ///< bytes; the lanes with short slots come last
  std::size_t total_bytes() const;             ///< in whole pages

  /// What is wrong with these sizes and what is valid, in one line; empty when they will do.
  std::string why_not() const;
  bool operator==(const Geometry&) const = default;
};

}  // namespace omnes::shm
