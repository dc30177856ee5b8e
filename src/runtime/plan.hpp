// A plan: a schedule bound to sizes and transports, ready to run again and again with any buffers.
//
// Overview: binding cuts the parts into bytes, places the temporary blocks in one arena, gives every message its route (shared memory, or the
// host's messages) and turns dependencies round, so that a step that ends knows which steps it releases. A send to a set becomes one step for the
// ranks on this node and one message for each of the others. A message that is to be combined becomes two steps: it may
// land at any time, in a place of its own.
// Order: messages of one channel start in the schedule's order. That is one more thing a step waits for: released when its predecessor on the channel
// has *started* (`after_start`), while data dependencies are released when it is *done* (`after_done`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace omnes::inline runtime {

/// The sizes of a buffer's parts, which lie one behind the other.
struct Parts {
  std::size_t count = 0;            ///< elements of each part, when they are equal
  std::vector<std::size_t> starts;  ///< else: elements before each part, and of all parts
};
/// Parts of so many elements each.
Parts unequal_parts(std::span<const std::size_t> counts);

/// How the parts of a call are cut into blocks of bytes.
struct Layout {
  Parts send, recv;
  std::size_t element = 1;  ///< bytes of an element
  int pieces = 1;
  std::span<const std::size_t> all_counts = {};  ///< as in Call, where the schedule needs them

  /// Byte offset at which block `block` (part * pieces + piece) of the buffer starts; also one past the end of the block before it.
  std::size_t offset(Buffer buffer, std::int64_t block) const;
  std::size_t size(Buffer buffer, std::int64_t block) const {
    return offset(buffer, block + 1) - offset(buffer, block);
  }
  /// Elements of a part of so many that come before a piece, or all of them.
  std::size_t before_piece(std::size_t count, std::size_t piece) const;
};

/// Which ranks of a group share this rank's memory.
struct Reach {
  std::vector<std::int32_t> local;  ///< rank -> number within this node's segment, or -1 where only messages reach
};

enum class Route : std::uint8_t { local, shm, port };

/// Bytes from `offset` on in a buffer.
struct Region {
  Buffer buffer = Buffer::send;
  std::size_t offset = 0;
};

/// Aligned, so that an index is a shift; the first cache line has all that a copy or a message needs.
struct alignas(64) Step {
  OpKind kind = OpKind::copy;
  Route route = Route::local;
  bool published = false;
  bool incoming_first = false;
  bool staged = false;     ///< recv_reduce by shm: the message lands at `b`, then is combined
  std::int32_t peer = -1;  ///< in the numbering of the route; sends by shm use readers instead
  std::uint32_t first_reader = 0, reader_count = 0;
  Region a, dst;
  std::size_t bytes = 0;
  Region b;
  std::size_t elements = 0;
  std::uint32_t waits_for = 0;                     ///< how many releases it needs before it may start
  std::uint32_t first_done = 0, done_count = 0;    ///< in Plan::after: steps released when this one is done
  std::uint32_t first_start = 0, start_count = 0;  ///< in Plan::after: steps released when this one has started
};

struct Plan {
  std::vector<Step> steps;
  std::vector<std::uint32_t> ready;   ///< steps that wait for nothing
  std::vector<std::uint32_t> after;   ///< pool of step indices
  std::vector<std::int32_t> readers;  ///< pool of local ranks
  std::size_t element = 1;            ///< bytes
  std::size_t arena_bytes = 0;        ///< temporary blocks, then landing places
  std::size_t longest = 0;            ///< bytes of the longest step
  std::size_t in_order = 0;           ///< first steps that may be tried in list order: none that goes through the port
  /// From this step on there are only short messages to receive; the number of steps where some message is long or the host's.
  std::size_t only_short_receives_from = 0;
  bool messages = false;   ///< some step goes through the port
  bool truncates = false;  ///< with all counts: this rank expects other ones than its partners send
  /// This rank copies its own part, and either only sends or only receives long messages beside: while it copies, its peers can, too.
  bool copies_beside = false;
};

/// What a plan has to know of the reduction.
struct Combining {
  bool direct = false;  ///< incoming operands may be combined straight from shared memory, in pieces; else staged
  bool kernel = false;  ///< the result may lie where either operand does; else, without a further copy, the right one
};
/// What this rank does of the schedule, with these sizes and routes.
Plan bind(const Schedule& schedule, const Layout& layout, const Reach& reach, Combining combining);

}  // namespace omnes::inline runtime
