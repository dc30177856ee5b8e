// One rank's view of a shared-memory segment: sends and receives that can be resumed.
//
// The protocol and why it is correct: docs/design.md, "The shared-memory segment". Ranks here are local: 0..p-1 within the segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace omnes::shm {

/// Sizes of a segment. Defaults are those of the source paper (sharm).
struct Geometry {
  int p = 1;
  int slots = 8;                 ///< s: slots in a rank's queue
  std::size_t slot_bytes = 8192; ///< f: bytes in a slot
  std::size_t control_bytes() const;  ///< a: control bytes for each slot; whole pages, enough for the lines that p readers need
  std::size_t region_bytes() const { return slots * (slot_bytes + control_bytes()); }
  std::size_t total_bytes() const { return p * region_bytes(); }
};

/// Called with each fragment of an incoming message, in order: `data` may lie in shared memory and is valid during the call only.
/// The default sink copies; a reducing sink combines straight from the slot.
using SinkFn = void (*)(void* context, std::size_t offset, const void* data, std::size_t bytes);
struct Sink {
  SinkFn fn = nullptr;
  void* context = nullptr;
};

/// Progress of one message; zero-initialise before the first call.
struct Transfer {
  std::size_t done = 0;
  std::uint32_t last = 0;     ///< sequence number to wait for (single copy)
  std::uint8_t stage = 0;
  std::uint16_t stalled = 0;  ///< calls without a free slot
};

class Endpoint;  // endpoint of one rank

}  // namespace omnes::shm
