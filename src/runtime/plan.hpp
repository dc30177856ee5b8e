// A plan: a schedule bound to transports and sizes, ready to run again and again with any buffers.
//
// Overview: binding gives every message its route (shared memory, or the host's messages) and turns dependencies round, so that a step that ends
// knows which steps it releases. A send to a set becomes one step for the ranks on this node and one message for each of the others. A message
// that is to be combined becomes two steps: it may land at any time, in a place of its own.
// Sizes: nothing of that depends on them. A plan knows at which blocks its regions begin and end; resizing cuts the parts into bytes, places the
// temporary blocks in one arena, and fills in where each step's regions lie and how long they are: one pass that allocates nothing. So a call
// with new sizes needs no new plan.
// Order: messages of one channel start in the schedule's order. That is one more thing a step waits for: released when its predecessor on the channel
// has *started* (`after_start`), while data dependencies are released when it is *done* (`after_done`).
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "schedule/schedule.hpp"

namespace omnes::inline runtime {

/// The sizes of a buffer's parts.
struct Parts {
  std::size_t count = 0;  ///< elements of each part, when they are equal and lie one behind the other
  std::span<const std::size_t> counts = {};  ///< else: of each
  /// Elements before each of those, modulo 2^64; empty: one behind the other. Only for plans that do not join parts.
  std::span<const std::size_t> starts = {};
};

/// The sizes of a call.
struct CallSizes {
  Parts send, recv;
  std::size_t element = 1;                       ///< bytes of an element
  std::span<const std::size_t> all_counts = {};  ///< as in Call, where the schedule needs them
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
  bool staged = false;       ///< recv_reduce by shm: the message lands at `b`, then is combined
  bool is_optional = false;  ///< a message that is left out where it has no data, as its other side knows, too
  std::int32_t peer = -1;    ///< in the numbering of the route; sends by shm use readers instead
  std::uint32_t first_reader = 0, reader_count = 0;
  Region a, dst;
  std::size_t bytes = 0;
  Region b;
  std::size_t elements = 0;
  std::uint32_t waits_for = 0;                     ///< how many releases it needs before it may start
  std::uint32_t first_done = 0, done_count = 0;    ///< in Plan::after: steps released when this one is done
  std::uint32_t first_start = 0, start_count = 0;  ///< in Plan::after: steps released when this one has started
};

/// Where a region begins or ends: before a piece of a part, or, with as many as there are, behind the last one.
struct Mark {
  std::int32_t part = 0, piece = 0;
  auto operator<=>(const Mark&) const = default;
};

/// From one mark to another; numbers in Plan::places.
struct Between {
  std::uint32_t begin = 0, end = 0;
};

/// What a step's sizes follow from; numbers in Plan::places.
struct Extent {
  Between a, moved;  ///< `moved`: what a message carries, a copy brings about, or is combined
  std::uint32_t b = 0, dst = 0;
};

/// Where a step's regions begin and how long they are, in parts.
struct Multiples {
  std::uint32_t a = 0, b = 0, dst = 0, moved = 0;
};

/// The size of a temporary block, where only all counts tell it: of a piece of what a rank sends to another.
struct Pairwise {
  std::uint32_t pair = 0, piece = 0;
};

struct Plan {
  // What every run needs, up to where the readers are.
  /// This rank copies its own part, and either only sends or only receives long messages beside: while it copies, its peers can, too.
  bool copies_beside = false;  ///< with these sizes
  bool truncates = false;      ///< this rank expects other sizes than its partners send
  bool messages = false;       ///< some step goes through the port
  /// Some region holds several parts, or pieces of them, so that parts must lie one behind the other.
  bool joins_parts = false;
  /// Beside copies of its own, this rank only sends or only receives in shared memory, all at once.
  bool only_copies_and_moves = false;
  std::uint64_t sizing = 0;  ///< how often it was given sizes, where who sizes it counts that
  std::size_t in_order = 0;  ///< first steps that may be tried in list order, with these sizes: none through the port
  std::size_t element = 1;   ///< bytes
  std::vector<Step> steps;
  std::vector<std::int32_t> readers;  ///< pool of local ranks

  mutable std::int64_t waited = 0;  ///< ns that its runs to the end have waited for long, where they are timed

  // Of these sizes, too:
  std::size_t arena_bytes = 0;  ///< temporary blocks, then landing places
  std::size_t longest = 0;      ///< bytes of the longest step
  bool has_gaps = false;        ///< something else may lie between the parts of a buffer
  /// From this step on there are only short messages to receive; the number of steps where some message is long or the host's.
  std::size_t only_short_receives_from = 0;

  // What they follow from:
  std::size_t first_message = 0;     ///< step that goes through the port
  std::size_t behind_last_send = 0;  ///< step
  std::uint32_t arena_parts = 0, longest_parts = 0, shortest_parts = 0;
  /// Of the steps, where whole parts are moved and nothing is aligned: equal parts need no more. Else empty.
  std::vector<Multiples> multiples;
  /// Each step copies, sends or receives one such part: unequal parts need no more, either.
  bool moves_single_parts = false;
  std::vector<std::uint32_t> ready;  ///< steps that wait for nothing
  std::vector<std::uint32_t> after;  ///< pool of step indices
  /// No byte of `send`, or of `recv`, is moved by more than one step.
  bool sends_once = false, receives_once = false;
  std::int32_t pieces = 1;
  std::vector<Mark> sent_marks, received_marks;
  std::vector<Between> temporaries;     ///< each as long as so much of the buffer of all parts
  std::vector<Pairwise> pairs;          ///< or, with all counts, as these pieces
  std::vector<Between> landing_places;  ///< each as long
  std::vector<Extent> extents;          ///< of the steps
  /// Bytes before: nothing; the marks of `send`; those of `recv`; in the arena, each temporary block and its end; each landing place.
  std::vector<std::size_t> places;

  /// What follows from the steps' lengths.
  void settle(std::size_t longest_step, std::size_t shortest_step) {
    // Bytes of a copy in whose time a sender can be told that it may copy, too.
    constexpr std::size_t long_copy = 32 * 1024;
    // Bytes up to which a sender is done without its readers.
    constexpr std::size_t short_message = 4 * 1024;
    longest = longest_step;
    copies_beside = only_copies_and_moves && shortest_step >= long_copy;
    in_order = copies_beside ? 0 : first_message;
    only_short_receives_from = messages || longest > short_message ? steps.size() : behind_last_send;
  }
};

/// What a plan has to know of the reduction.
struct Combining {
  bool direct = false;  ///< incoming operands may be combined straight from shared memory, in pieces; else staged
  bool kernel = false;  ///< the result may lie where either operand does; else, without a further copy, the right one
};
/// What this rank does of the schedule, by these routes. To be resized before it runs.
Plan bind(const Schedule& schedule, const Reach& reach, Combining combining);
/// Gives a plan that has multiples the sizes of equal parts.
inline void resize_whole(Plan& plan, std::size_t count, std::size_t element) {
  OMNES_ASSERT(plan.multiples.size() == plan.steps.size());
  const std::size_t part = count * element;
  const Multiples* multiple = plan.multiples.data();
  for (Step& step : plan.steps) {
    step.a.offset = multiple->a * part;
    step.b.offset = multiple->b * part;
    step.dst.offset = multiple->dst * part;
    step.bytes = multiple->moved * part;
    step.elements = multiple->moved * count;
    ++multiple;
  }
  plan.element = element;
  plan.has_gaps = false;
  plan.arena_bytes = plan.arena_parts * part;
  plan.settle(plan.longest_parts * part, plan.shortest_parts * part);
}
/// Gives a plan that moves single parts those of `send` and `recv`, which say where a part starts and how long it is, in bytes: start(part), bytes(part).
/// Returns whether they are valid: none is negative, and what this rank copies has two equal ones.
template <class Side>
bool resize_parts(Plan& plan, const Side& send, const Side& recv) {
  OMNES_ASSERT(plan.moves_single_parts && plan.multiples.size() == plan.steps.size());
  std::size_t longest = 0, shortest = SIZE_MAX;
  const Multiples* multiple = plan.multiples.data();
  for (Step& step : plan.steps) {
    const auto& [a, b, dst, moved] = *multiple++;
    const Side& from = step.a.buffer == Buffer::send ? send : recv;
    const Side& to = step.dst.buffer == Buffer::send ? send : recv;
    if (step.kind != OpKind::recv) {
      step.a.offset = from.start(a);
      step.bytes = from.bytes(a);
    }
    if (step.kind != OpKind::send) {
      step.dst.offset = to.start(dst);
      const std::size_t bytes = to.bytes(dst);
      if (step.kind == OpKind::copy && step.bytes != bytes) return false;
      step.bytes = bytes;
    }
    longest = std::max(longest, step.bytes);
    shortest = std::min(shortest, step.bytes);
  }
  plan.truncates = false;
  plan.settle(longest, shortest);
  return static_cast<std::int64_t>(longest) >= 0;
}
/// Gives a plan sizes. Unequal parts are those of the same buffers each time.
void resize(Plan& plan, const CallSizes& sizes);

}  // namespace omnes::inline runtime
