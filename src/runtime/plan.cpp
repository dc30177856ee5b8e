// Binding a schedule: routes, and who releases whom; and giving it sizes.
#include "runtime/plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/assert.hpp"

namespace omnes::inline runtime {

namespace {

constexpr std::size_t cache_line = 64;  // bytes; blocks of long parts start on lines relative to the buffer
constexpr std::size_t align_blocks_from = 4 * cache_line;  // bytes per block below which the cut stays even instead

// Messages of one of the host's channels that are received at once. With all that have been sent, those that share a link
// come late together, where it is divided among them, instead of one after the other: simulated, a bcast of 4 MiB by a chain
// on a tapered fat tree takes 440 us with three or four, 635 with two, 1080 with one.
constexpr std::size_t receives_ahead = 4;
// That may land before the first of them is combined: one, and one that is on its way meanwhile. More would be tested in
// vain.
constexpr std::size_t landings_ahead = 2;

class Binder {
 public:
  Binder(const Schedule& schedule, const Reach& reach, Combining combining)
      : schedule_(schedule), reach_(reach), combining_(combining) {}

  Plan bind() {
    plan_.pieces = schedule_.pieces;
    collect_marks();
    add_temporaries();
    first_step_.reserve(schedule_.ops.size() + 1);
    for (const Op& op : schedule_.ops) {
      first_step_.push_back(static_cast<std::uint32_t>(plan_.steps.size()));
      add(op);
    }
    first_step_.push_back(static_cast<std::uint32_t>(plan_.steps.size()));
    release_order();
    plan_.places.assign(first_landing_ + plan_.landing_places.size(), 0);
    return std::move(plan_);
  }

 private:
  // A channel on this rank: direction, route, lane, peer (-1: all readers of this rank's publishes).
  using Channel = std::tuple<bool, Route, bool, std::int32_t>;

  Mark begin_of(std::int32_t block) const { return {block / plan_.pieces, block % plan_.pieces}; }
  Mark end_of(std::int32_t block) const { return {block / plan_.pieces, block % plan_.pieces + 1}; }
  std::vector<Mark>& marks(Buffer buffer) { return buffer == Buffer::send ? plan_.sent_marks : plan_.received_marks; }

  /// Where any region begins or ends, sorted.
  void collect_marks() {
    const auto add = [&](const Blocks& blocks) {
      if (blocks.count == 0 || blocks.buffer == Buffer::temp) return;
      const Mark begin = begin_of(blocks.first), end = end_of(blocks.first + blocks.count - 1);
      plan_.joins_parts = plan_.joins_parts || begin.part != end.part;
      marks(blocks.buffer).insert(marks(blocks.buffer).end(), {begin, end});
    };
    for (const Op& op : schedule_.ops)
      for (const Blocks& blocks : {op.a, op.b, op.dst}) add(blocks);
    for (const Like& like : schedule_.temp) add({buffer_of_all(schedule_.problem.operation), like.block, 1});
    for (std::vector<Mark>* const sorted : {&plan_.sent_marks, &plan_.received_marks}) {
      std::ranges::sort(*sorted);
      const auto repeated = std::ranges::unique(*sorted);
      sorted->erase(repeated.begin(), repeated.end());
    }
    first_temporary_ = static_cast<std::uint32_t>(1 + plan_.sent_marks.size() + plan_.received_marks.size());
    first_landing_ = first_temporary_ + static_cast<std::uint32_t>(schedule_.temp.size()) + 1;
  }

  void add_temporaries() {
    const Operation operation = schedule_.problem.operation;
    for (const auto& [block, rank] : schedule_.temp) {
      plan_.temporaries.push_back(between({buffer_of_all(operation), block, 1}));
      if (!sized_by_pairs(operation)) continue;
      const std::int32_t from = block / plan_.pieces, piece = block % plan_.pieces;
      plan_.pairs.push_back(
          {static_cast<std::uint32_t>(from * schedule_.problem.p + rank), static_cast<std::uint32_t>(piece)});
    }
  }

  std::uint32_t place(Buffer buffer, const Mark& mark) {
    const std::vector<Mark>& known = marks(buffer);
    const auto at = std::ranges::lower_bound(known, mark) - known.begin();
    return static_cast<std::uint32_t>(1 + (buffer == Buffer::send ? 0 : plan_.sent_marks.size()) + at);
  }
  Between between(const Blocks& blocks) {
    if (blocks.count == 0) return {};
    if (blocks.buffer == Buffer::temp) {
      const std::uint32_t begin = first_temporary_ + static_cast<std::uint32_t>(blocks.first);
      return {begin, begin + static_cast<std::uint32_t>(blocks.count)};
    }
    return {place(blocks.buffer, begin_of(blocks.first)),
            place(blocks.buffer, end_of(blocks.first + blocks.count - 1))};
  }

  /// A step whose regions' extents are known, except those that the caller changes.
  struct Sized {
    Step step;
    Extent extent;
  };

  void add(const Op& op) {
    Sized sized;
    Step& step = sized.step;
    step.kind = op.kind;
    step.published = op.published;
    step.incoming_first = op.incoming_first;
    step.a.buffer = op.a.buffer;
    step.b.buffer = op.b.buffer;
    step.dst.buffer = op.dst.buffer;
    sized.extent = {between(op.a), between(op.kind == OpKind::send ? op.a : op.dst), between(op.b).begin,
                    between(op.dst).begin};
    switch (op.kind) {
      case OpKind::copy:
      case OpKind::reduce: push(sized, {}); break;
      case OpKind::recv:
      case OpKind::recv_reduce: add_receive(op, sized); break;
      case OpKind::send: add_send(op, sized); break;
    }
  }

  void add_receive(const Op& op, Sized sized) {
    Step& step = sized.step;
    const std::int32_t local = reach_.local[op.peer];
    step.route = local >= 0 ? Route::shm : Route::port;
    step.peer = local >= 0 ? local : op.peer;
    const Channel channel{false, step.route, step.published, step.peer};
    if (op.kind == OpKind::recv_reduce) {
      if (step.route == Route::port) return add_landing(sized, channel);
      if (!combining_.direct) stage(op, sized);
    }
    push(sized, {channel});
    if (step.route == Route::port) follow(channel, receives_ahead, plan_.steps.size() - 1);
  }
  /// The last step receives on a channel of the host's, once the message `ahead` places before is taken; its own is with step `end`.
  void follow(const Channel& channel, std::size_t ahead, std::size_t end) {
    std::vector<std::uint32_t>& taken = taken_of_[channel];
    const auto self = static_cast<std::uint32_t>(plan_.steps.size() - 1);
    if (taken.size() >= ahead) ends_.push_back({taken[taken.size() - ahead], self});
    taken.push_back(static_cast<std::uint32_t>(end));
  }

  /// The message lands where the result will lie, if it may. Operands never change places: of two ranks that exchange
  /// their sums each receives another one, and not even predefined operations always commute (which of 0 and -0 is the
  /// larger?).
  void stage(const Op& op, Sized& sized) {
    Step& step = sized.step;
    step.staged = true;
    if ((combining_.kernel || !step.incoming_first) && !overlap(op.a, op.dst)) {
      step.b.buffer = step.dst.buffer;
      sized.extent.b = sized.extent.dst;
    } else {
      step.b.buffer = Buffer::temp;
      sized.extent.b = landing_place(sized.extent.moved);
    }
  }
  static bool overlap(const Blocks& a, const Blocks& b) {
    return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
  }
  std::uint32_t landing_place(const Between& like) {
    plan_.landing_places.push_back(like);
    return first_landing_ + static_cast<std::uint32_t>(plan_.landing_places.size() - 1);
  }

  /// A message that is to be combined has a place of its own, so it may come before the other operand is there.
  void add_landing(Sized sized, const Channel& channel) {
    const std::uint32_t landing = landing_place(sized.extent.moved);
    Sized message = sized;
    message.step.kind = OpKind::recv;
    message.step.dst.buffer = Buffer::temp;
    message.extent.dst = landing;
    push(message, {channel});
    follow(channel, landings_ahead, plan_.steps.size());
    Step& step = sized.step;
    step.kind = OpKind::reduce;
    step.route = Route::local;
    if (step.incoming_first) {
      step.b.buffer = step.a.buffer;
      sized.extent.b = sized.extent.a.begin;
      step.a.buffer = Buffer::temp;
      sized.extent.a = {landing, landing};
    } else {
      step.b.buffer = Buffer::temp;
      sized.extent.b = landing;
    }
    push(sized, {});
  }
  bool lands(std::size_t op, std::uint32_t step) const {
    return schedule_.ops[op].kind == OpKind::recv_reduce && plan_.steps[step].kind == OpKind::recv;
  }

  void add_send(const Op& op, Sized sized) {
    Step& step = sized.step;
    std::vector<std::int32_t> to;
    if (op.published) {
      for (std::int32_t rank = 0; rank < schedule_.problem.p; ++rank)
        if (rank != schedule_.problem.rank) to.push_back(rank);
    } else {
      const auto peers = schedule_.peers_of(op);
      to.assign(peers.begin(), peers.end());
    }
    step.first_reader = static_cast<std::uint32_t>(plan_.readers.size());
    std::vector<Channel> channels;
    for (const std::int32_t rank : to) {
      if (reach_.local[rank] < 0) continue;
      plan_.readers.push_back(reach_.local[rank]);
      channels.push_back(Channel{true, Route::shm, op.published, op.published ? -1 : reach_.local[rank]});
    }
    step.reader_count = static_cast<std::uint32_t>(plan_.readers.size()) - step.first_reader;
    if (step.reader_count > 0) {
      step.route = Route::shm;
      if (op.published) channels.resize(1);
      push(sized, channels);
    }
    step.route = Route::port;
    for (const std::int32_t rank : to) {
      if (reach_.local[rank] >= 0) continue;
      step.peer = rank;
      push(sized, {Channel{true, Route::port, op.published, rank}});
    }
  }

  /// In shared memory, where they cost next to nothing, messages of equal parts tell of lengths that do not agree, and those
  /// that never have data that another rank has come so far.
  bool is_optional(const Sized& sized) const {
    const Operation operation = schedule_.problem.operation;
    const bool may_have_data = sized.extent.moved.begin != sized.extent.moved.end;
    return sized.step.route == Route::port ? operation != Operation::barrier : unequal(operation) && may_have_data;
  }

  void push(const Sized& sized, const std::vector<Channel>& channels) {
    const auto self = static_cast<std::uint32_t>(plan_.steps.size());
    plan_.steps.push_back(sized.step);
    plan_.steps.back().is_optional = is_optional(sized);
    plan_.extents.push_back(sized.extent);
    for (const Channel& channel : channels) {
      const auto [last, first_on_channel] = last_on_.try_emplace(channel, self);
      if (!first_on_channel) {
        starts_.push_back({last->second, self});
        last->second = self;
      }
    }
  }

  // Turns "waits for" into "releases", both for ends and for starts.
  void release_order() {
    for (std::size_t op = 0; op < schedule_.ops.size(); ++op)
      for (std::uint32_t step = first_step_[op]; step < first_step_[op + 1]; ++step) {
        if (lands(op, step)) {
          ends_.push_back({step, step + 1});
          continue;
        }
        for (const std::uint32_t dep : schedule_.deps_of(schedule_.ops[op]))
          for (std::uint32_t before = first_step_[dep]; before < first_step_[dep + 1]; ++before)
            ends_.push_back({before, step});
      }
    pool(ends_, &Step::first_done, &Step::done_count);
    pool(starts_, &Step::first_start, &Step::start_count);
    for (std::uint32_t step = 0; step < plan_.steps.size(); ++step)
      if (plan_.steps[step].waits_for == 0) plan_.ready.push_back(step);
  }

  void pool(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges, std::uint32_t Step::* first,
            std::uint32_t Step::* count) {
    for (const auto& [from, to] : edges) {
      ++(plan_.steps[from].*count);
      ++plan_.steps[to].waits_for;
    }
    auto next = static_cast<std::uint32_t>(plan_.after.size());
    for (Step& step : plan_.steps) {
      step.*first = next;
      next += step.*count;
      step.*count = 0;
    }
    plan_.after.resize(next);
    for (const auto& [from, to] : edges) {
      Step& step = plan_.steps[from];
      plan_.after[step.*first + (step.*count)++] = to;
    }
  }

  const Schedule& schedule_;
  const Reach& reach_;
  const Combining combining_;
  Plan plan_;
  std::uint32_t first_temporary_ = 1, first_landing_ = 1;  // in Plan::places
  std::vector<std::uint32_t> first_step_;                  // op -> its first step
  std::map<Channel, std::uint32_t> last_on_;
  std::map<Channel, std::vector<std::uint32_t>> taken_of_;              // the steps that take a channel's messages
  std::vector<std::pair<std::uint32_t, std::uint32_t>> starts_, ends_;  // who waits for whose start, for whose end
};

/// It has copies, and all else are messages of shared memory one way; nothing waits for anything.
bool only_copies_and_moves(const Plan& plan) {
  const auto is = [](const Step& step, OpKind kind, Route route) {
    return step.kind == kind && step.route == route && step.waits_for == 0;
  };
  const auto copies = [&](const Step& step) { return is(step, OpKind::copy, Route::local); };
  const auto only_copies_and = [&](OpKind kind) {
    return std::ranges::all_of(plan.steps,
                               [&](const Step& step) { return copies(step) || is(step, kind, Route::shm); });
  };
  return std::ranges::any_of(plan.steps, copies) && (only_copies_and(OpKind::send) || only_copies_and(OpKind::recv));
}

/// Whether the steps' regions in a buffer are disjoint.
bool moves_once(const Plan& plan, Buffer buffer) {
  std::vector<bool> moved(plan.places.size());  // what lies between a mark and the next
  const auto is_new = [&](const Between& region) {
    const auto begin = moved.begin() + region.begin, end = moved.begin() + region.end;
    if (std::find(begin, end, true) != end) return false;
    std::fill(begin, end, true);
    return true;
  };
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const Extent& extent = plan.extents[i];
    if (step.kind != OpKind::recv && step.a.buffer == buffer && !is_new(extent.a)) return false;
    if (step.kind != OpKind::send && step.dst.buffer == buffer && !is_new(extent.moved)) return false;
  }
  return true;
}

/// Where a part of so many elements is cut into pieces, nearly equal ones.
class Cut {
 public:
  Cut(std::size_t count, std::size_t pieces, std::size_t element)
      : count_(count), pieces_(pieces), quotient_(count / pieces), remainder_(count % pieces) {
    const bool on_lines = element > 0 && cache_line % element == 0 && quotient_ * element >= align_blocks_from;
    if (on_lines) in_line_ = cache_line / element - 1;  // a power of two, less 1
  }
  /// Elements before a piece, or, of as many as there are, in all.
  std::size_t before(std::size_t piece) const {
    if (piece == pieces_) return count_;
    // count * piece / pieces without overflow.
    const std::size_t cut = quotient_ * piece + (remainder_ == 0 ? 0 : remainder_ * piece / pieces_);
    return cut & ~in_line_;
  }

 private:
  std::size_t count_, pieces_, quotient_, remainder_, in_line_ = 0;
};

/// Bytes before the marks of a buffer. Returns the place after the last one.
std::size_t* place_marks(std::span<const Mark> marks, const Parts& parts, std::size_t element, const Plan& plan,
                         std::size_t* at) {
  const auto pieces = static_cast<std::size_t>(plan.pieces);
  if (parts.counts.empty()) {
    if (pieces == 1) {
      const std::size_t bytes = parts.count * element;
      for (const Mark& mark : marks) *at++ = static_cast<std::size_t>(mark.part + mark.piece) * bytes;
      return at;
    }
    const Cut cut(parts.count, pieces, element);
    for (const Mark& mark : marks) {
      const std::size_t before = static_cast<std::size_t>(mark.part) * parts.count;
      *at++ = (before + (mark.piece == 0 ? 0 : cut.before(static_cast<std::size_t>(mark.piece)))) * element;
    }
    return at;
  }
  OMNES_ASSERT(parts.starts.empty() || !plan.joins_parts);
  OMNES_ASSERT(marks.empty() || static_cast<std::size_t>(marks.back().part) < parts.counts.size());
  std::size_t part = 0, before = 0;  // marks are sorted
  for (const Mark& mark : marks) {
    for (; part < static_cast<std::size_t>(mark.part); ++part) before += parts.counts[part];
    const std::size_t count = parts.counts[part], piece = static_cast<std::size_t>(mark.piece);
    const std::size_t inside = piece == 0 ? 0 : piece == pieces ? count : Cut(count, pieces, element).before(piece);
    *at++ = ((parts.starts.empty() ? before : parts.starts[part]) + inside) * element;
  }
  return at;
}

/// Bytes before the temporary blocks, which lie one behind the other, so that runs of them travel as one message.
std::size_t* place_temporaries(const Plan& plan, const CallSizes& sizes, const std::size_t* places, std::size_t* at) {
  std::size_t before = 0;
  if (sizes.all_counts.empty()) {
    for (const Between& like : plan.temporaries) {
      *at++ = before;
      before += places[like.end] - places[like.begin];
    }
  } else {
    for (const auto& [pair, piece] : plan.pairs) {
      *at++ = before;
      const Cut cut(sizes.all_counts[pair], static_cast<std::size_t>(plan.pieces), sizes.element);
      before += (cut.before(piece + 1) - cut.before(piece)) * sizes.element;
    }
  }
  *at++ = before;
  return at;
}

void resize_any(Plan& plan, const CallSizes& sizes) {
  const std::size_t element = sizes.element;
  std::size_t* const places = plan.places.data();
  std::size_t* at = place_marks(plan.sent_marks, sizes.send, element, plan, places + 1);
  at = place_marks(plan.received_marks, sizes.recv, element, plan, at);
  at = place_temporaries(plan, sizes, places, at);
  std::size_t arena = at[-1];
  for (const Between& like : plan.landing_places) {
    *at = (arena + cache_line - 1) / cache_line * cache_line;
    arena = *at++ + places[like.end] - places[like.begin];
  }
  plan.element = element;
  plan.has_gaps = !sizes.send.starts.empty() || !sizes.recv.starts.empty();
  plan.arena_bytes = arena;

  std::size_t longest = 0, shortest = SIZE_MAX;
  std::size_t bytes_before = 0, elements_before = 0;
  plan.truncates = false;
  const Extent* extent = plan.extents.data();
  for (Step& step : plan.steps) {
    const auto& [a, moved, b, dst] = *extent++;
    step.a.offset = places[a.begin];
    step.b.offset = places[b];
    step.dst.offset = places[dst];
    step.bytes = places[moved.end] - places[moved.begin];
    // Equal by proof, unless this rank's own counts are wrong; it still has to pass on what is not its own.
    if (step.kind == OpKind::copy) {
      if (const std::size_t there = places[a.end] - places[a.begin]; there != step.bytes) [[unlikely]] {
        plan.truncates = true;
        step.bytes = std::min(step.bytes, there);
      }
    } else if (step.kind == OpKind::reduce || step.kind == OpKind::recv_reduce) {
      if (step.bytes != bytes_before) {  // most are as long as the one before: no division
        bytes_before = step.bytes;
        elements_before = element == 0 ? 0 : step.bytes / element;
      }
      step.elements = elements_before;
    }
    longest = std::max(longest, step.bytes);
    shortest = std::min(shortest, step.bytes);
  }
  plan.settle(longest, shortest);
}

/// They are the sizes of parts of one byte.
void find_multiples(Plan& plan) {
  resize_any(plan, {{.count = 1}, {.count = 1}, 1});
  const auto parts = [](std::size_t bytes) { return static_cast<std::uint32_t>(bytes); };
  std::size_t shortest = SIZE_MAX;
  for (const Step& step : plan.steps) {
    plan.multiples.push_back({parts(step.a.offset), parts(step.b.offset), parts(step.dst.offset), parts(step.bytes)});
    shortest = std::min(shortest, step.bytes);
  }
  plan.moves_single_parts =
      !plan.joins_parts && plan.temporaries.empty() && std::ranges::all_of(plan.steps, [](const Step& step) {
        return step.bytes == 1 && (step.kind == OpKind::copy || step.kind == OpKind::send || step.kind == OpKind::recv);
      });
  plan.arena_parts = parts(plan.arena_bytes);
  plan.longest_parts = parts(plan.longest);
  plan.shortest_parts = plan.steps.empty() ? 0 : parts(shortest);
}

}  // namespace

Plan bind(const Schedule& schedule, const Reach& reach, Combining combining) {
  OMNES_ASSERT(static_cast<int>(reach.local.size()) == schedule.problem.p);
  Plan plan = Binder(schedule, reach, combining).bind();
  const auto first_message = std::ranges::find(plan.steps, Route::port, &Step::route);
  plan.messages = first_message != plan.steps.end();
  plan.first_message = static_cast<std::size_t>(first_message - plan.steps.begin());
  plan.only_copies_and_moves = only_copies_and_moves(plan);
  plan.sends_once = moves_once(plan, Buffer::send);
  plan.receives_once = moves_once(plan, Buffer::recv);
  const auto last_send =
      std::find_if(plan.steps.rbegin(), plan.steps.rend(), [](const Step& step) { return step.kind == OpKind::send; });
  plan.behind_last_send = static_cast<std::size_t>(plan.steps.rend() - last_send);
  if (plan.pieces == 1 && plan.landing_places.empty()) find_multiples(plan);
  return plan;
}

void resize(Plan& plan, const CallSizes& sizes) {
  const bool whole = !plan.multiples.empty() && sizes.send.counts.empty() && sizes.recv.counts.empty();
  if (whole) {
    resize_whole(plan, sizes.recv.count, sizes.element);
  } else {
    resize_any(plan, sizes);
  }
}

}  // namespace omnes::inline runtime
