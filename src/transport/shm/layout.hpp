// What lies where in a segment: the control lines and the slots of each rank's region.
//
// Overview: region o belongs to rank o, which alone writes it, except for answers to its offers (Intake). It holds, in lines
// of 64 bytes: who the owner is, where it sleeps, its publish ring, one line per other rank with what it has taken from it, one
// pair ring per reader; then, page-aligned, its slots. So few small messages touch one page.
// Why lines are placed so: rings start on even lines and have even lengths (from 2 slots on), so the pairs of lines
// that processors prefetch together never mix two rings, or a ring with a polled counter.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assert.hpp"
#include "transport/shm/copy.hpp"
#include "transport/shm/geometry.hpp"
#include "transport/shm/waiting.hpp"

namespace omnes::shm {

inline constexpr std::size_t line_bytes = 64;    ///< a cache line of every x86-64 and most Arm processors
inline constexpr std::size_t page_bytes = 4096;  ///< smallest page; control and slots start on multiples of it
inline constexpr std::size_t inline_bytes = 56;  ///< payload that fits a line beside its header and sequence number
inline constexpr std::size_t inline_fragment_bytes = 48;  ///< of a message that goes on: operands are not cut
inline constexpr std::size_t inline_message_bytes =
    200;  ///< up to here in up to four lines: as many lines as through a slot, and rings are deeper than slots are many
inline constexpr std::size_t max_pair_lines = 64;  ///< more than a sender of tiny messages gains from
inline constexpr std::uint32_t publish_lines =
    32;  ///< depth of the publish ring: its slowest reader may lag so many fragments

/// How a descriptor line carries its fragment.
enum class Carry : std::uint32_t {
  inside = 0,  ///< the payload is in the line
  slot = 1,    ///< the line names a slot of the owner
  single = 2   ///< the line names the owner's buffer, which the reader copies from (single copy)
};

/// Header of a line: bytes of the fragment, whether it is its message's last, how it is carried. 64 bits wide so that
/// comparing it with what a reader expects cannot wrap, whatever the reader expects.
constexpr std::uint64_t header(Carry carry, bool last, std::uint64_t bytes) {
  return bytes << 3 | (last ? 4U : 0U) | static_cast<std::uint32_t>(carry);
}
constexpr Carry carry_of(std::uint64_t header) { return static_cast<Carry>(header & 3); }
constexpr bool is_last(std::uint64_t header) { return (header & 4) != 0; }
constexpr std::uint64_t bytes_of(std::uint64_t header) { return header >> 3; }
inline constexpr std::size_t max_slot_bytes = std::size_t{1} << 28;  ///< so that a fragment's header fits 32 bits

/// A descriptor line. `sequence` is k + 1 for the ring's k-th fragment (modulo 2^32) and is stored last.
struct alignas(line_bytes) Line {
  std::byte payload[inline_bytes];  ///< first, so that operands in it are aligned like any allocation
  std::uint32_t header;
  std::atomic<std::uint32_t> sequence;
};
static_assert(sizeof(Line) == line_bytes);

/// What a line that names a slot carries as payload.
struct InSlot {
  std::int32_t slot;
  OutwardCopy::Written written;
};

/// What a single-copy line carries as payload; the header's byte count stays 0. The rest of the line may carry pieces of
/// the message later, see single_copy.cpp.
struct RemoteBuffer {
  std::uint64_t address;
  std::uint64_t bytes;
  bool busy_sender = false;  ///< its owner has something else to do before it can help
  bool in_window = false;    ///< in the owner's part of a shared window
  bool in_heap = false;      ///< in the owner's heap
};

/// What a reader tells the owner of a ring.
struct Intake {
  std::atomic<std::uint32_t> taken;  ///< fragments taken
  std::atomic<std::uint64_t> offer;  ///< to share the work of a single copy, see single_copy.cpp; 0: none
  std::atomic<std::uint64_t> into;   ///< where what is offered belongs; with the mark, in its owner's heap
};
inline constexpr std::uint64_t in_heap_mark = std::uint64_t{1} << 63;  // no address of a program

/// Ways to read a peer's memory.
inline constexpr std::uint32_t by_call = 1;     ///< by system calls (CMA)
inline constexpr std::uint32_t by_mapping = 2;  ///< what lies in its heap, which is mapped

/// What rank o tells rank q, and the one place where q may write in o's region: `offer` and `into`, to answer.
struct alignas(line_bytes) Consumed {
  Intake pair, published;
  std::atomic<std::uint32_t> may_read;  ///< how o can read q's memory: of the ways above
  OutwardCopy::Paces reading;           ///< how fast o reads q's slots
};
static_assert(sizeof(Consumed) == line_bytes);

/// Who owns a region: enough for a peer to find its memory and to be sure that it found the right one.
struct alignas(line_bytes) Identity {
  std::uint64_t segment_nonce;  ///< region 0 only, written by the segment's creator
  std::uint64_t rank_nonce;
  std::uint64_t address;  ///< of this line, in the owner's address space
  std::int64_t pid;
  std::uint32_t let_go;  ///< see Endpoint::let_go
  std::uint32_t left;    ///< region 0 only: ranks that have done with a segment of a pool
};

static_assert(sizeof(SleepWord) == line_bytes);

/// Addresses within one mapping of a segment.
class Layout {
 public:
  Layout(const Geometry& geometry, std::byte* base)
      : geometry_(geometry),
        base_(base),
        region_bytes_(geometry.region_bytes()),
        first_slot_(static_cast<std::size_t>(geometry.slots) * geometry.control_bytes()) {}

  Identity* identity(int owner) const { return at<Identity>(owner, 0); }
  SleepWord* sleep_word(int owner) const { return at<SleepWord>(owner, 1); }
  Line* publish_ring(int owner) const { return at<Line>(owner, 2); }
  Line* pair_ring(int owner, int reader) const {
    return at<Line>(owner, lines_beside_pairs(geometry_) + static_cast<std::size_t>(reader) * geometry_.pair_lines());
  }
  Consumed* consumed(int owner, int of) const {
    return at<Consumed>(owner, counters_line + static_cast<std::size_t>(of));
  }
  std::byte* slot(int owner, std::size_t index) const {
    OMNES_ASSERT(index < static_cast<std::size_t>(geometry_.slots));
    return region(owner) + first_slot_ + index * geometry_.slot_bytes;
  }
  std::byte* region(int owner) const {
    OMNES_ASSERT(owner >= 0 && owner < geometry_.p);
    return base_ + static_cast<std::size_t>(owner) * region_bytes_;
  }

  static constexpr std::size_t counters_line = 2 + publish_lines;
  static std::size_t lines_beside_pairs(const Geometry& geometry) {
    const auto counters = static_cast<std::size_t>(geometry.p);
    return counters_line + counters + counters % 2;
  }
  static std::size_t control_lines(const Geometry& geometry) {
    return lines_beside_pairs(geometry) + static_cast<std::size_t>(geometry.p) * geometry.pair_lines();
  }

 private:
  template <class T>
  T* at(int owner, std::size_t line) const {
    return reinterpret_cast<T*>(region(owner) + line * line_bytes);
  }

  Geometry geometry_;
  std::byte* base_;
  std::size_t region_bytes_, first_slot_;
};

/// memcpy for at most inline_bytes: two overlapping moves of a fixed size instead of a call.
inline void copy_small(void* to, const void* from, std::size_t n) {
  OMNES_ASSERT(n <= inline_bytes);
  auto* d = static_cast<std::byte*>(to);
  const auto* s = static_cast<const std::byte*>(from);
  const auto ends = [&](auto word) {
    decltype(word) head, tail;
    std::memcpy(&head, s, sizeof head);
    std::memcpy(&tail, s + n - sizeof tail, sizeof tail);
    std::memcpy(d, &head, sizeof head);
    std::memcpy(d + n - sizeof tail, &tail, sizeof tail);
  };
  struct Words2 {
    std::uint64_t w[2];
  };
  struct Words4 {
    std::uint64_t w[4];
  };
  if (n == 8) {
    std::memcpy(d, s, 8);
  } else if (n >= 32) {
    ends(Words4{});
  } else if (n >= 16) {
    ends(Words2{});
  } else if (n > 8) {
    ends(std::uint64_t{});
  } else if (n >= 4) {
    ends(std::uint32_t{});
  } else {
    for (std::size_t i = 0; i < n; ++i) d[i] = s[i];
  }
}

}  // namespace omnes::shm
