// Binding a schedule: bytes, routes, and who releases whom.
#include "runtime/plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace omnes::inline runtime {

namespace {

constexpr std::size_t cache_line = 64;  // bytes; blocks of long parts start on lines relative to the buffer
constexpr std::size_t align_blocks_from = 4 * cache_line;  // bytes per block below which the cut stays even instead

// Messages of one channel that may land before the first of them is combined: one, and one that is on its way meanwhile.
// More would be tested in vain.
constexpr std::size_t landings_ahead = 2;

// Bytes of a copy in whose time a sender can be told that it may copy, too.
constexpr std::size_t long_copy = 32 * 1024;

// Bytes up to which a sender is done without its readers.
constexpr std::size_t short_message = 4 * 1024;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

/// Of a piece of what the rank of that part sends to `to`, as all ranks know it.
std::size_t size_between(int p, const Layout& layout, int block, int to) {
  const int from = block / layout.pieces, piece = block % layout.pieces;
  const std::size_t count = layout.all_counts[static_cast<std::size_t>(from) * p + to];
  return (layout.before_piece(count, piece + 1) - layout.before_piece(count, piece)) * layout.element;
}

// Byte offsets of the temporary blocks, contiguous so that runs of them travel as one message.
std::vector<std::size_t> place_temporaries(const Schedule& schedule, const Layout& layout) {
  std::vector<std::size_t> offsets(schedule.temp.size() + 1, 0);
  const Buffer like = buffer_of_all(schedule.problem.operation);
  for (std::size_t i = 0; i < schedule.temp.size(); ++i) {
    const auto [block, rank] = schedule.temp[i];
    offsets[i + 1] = offsets[i] + (layout.all_counts.empty() ? layout.size(like, block)
                                                             : size_between(schedule.problem.p, layout, block, rank));
  }
  return offsets;
}

class Binder {
 public:
  Binder(const Schedule& schedule, const Layout& layout, const Reach& reach, Combining combining)
      : schedule_(schedule), layout_(layout), reach_(reach), combining_(combining) {}

  Plan bind() {
    temp_ = place_temporaries(schedule_, layout_);
    plan_.arena_bytes = temp_.back();
    plan_.element = layout_.element;
    first_step_.reserve(schedule_.ops.size() + 1);
    for (const Op& op : schedule_.ops) {
      first_step_.push_back(static_cast<std::uint32_t>(plan_.steps.size()));
      add(op);
    }
    first_step_.push_back(static_cast<std::uint32_t>(plan_.steps.size()));
    release_order();
    return std::move(plan_);
  }

 private:
  // A channel on this rank: direction, route, lane, peer (-1: all readers of this rank's publishes).
  using Channel = std::tuple<bool, Route, bool, std::int32_t>;

  std::size_t at(Buffer buffer, std::int64_t block) const {
    return buffer == Buffer::temp ? temp_[block] : layout_.offset(buffer, block);
  }
  Region region(const Blocks& blocks) const {
    return {blocks.buffer, blocks.count == 0 ? 0 : at(blocks.buffer, blocks.first)};
  }
  std::size_t bytes(const Blocks& blocks) const {
    if (blocks.count == 0) return 0;
    return at(blocks.buffer, blocks.first + blocks.count) - at(blocks.buffer, blocks.first);
  }

  void add(const Op& op) {
    Step step;
    step.kind = op.kind;
    step.published = op.published;
    step.incoming_first = op.incoming_first;
    step.a = region(op.a);
    step.b = region(op.b);
    step.dst = region(op.dst);
    step.bytes = bytes(op.kind == OpKind::send ? op.a : op.dst);
    step.elements = layout_.element == 0 ? 0 : step.bytes / layout_.element;
    switch (op.kind) {
      case OpKind::copy:
        // Equal by proof, unless this rank's own counts are wrong; it still has to pass on what is not its own.
        if (const std::size_t there = bytes(op.a); there != step.bytes) {
          plan_.truncates = true;
          step.bytes = std::min(step.bytes, there);
        }
        push(step, {});
        break;
      case OpKind::reduce: push(step, {}); break;
      case OpKind::recv:
      case OpKind::recv_reduce: add_receive(op, step); break;
      case OpKind::send: add_send(op, step); break;
    }
  }

  void add_receive(const Op& op, Step step) {
    const std::int32_t local = reach_.local[op.peer];
    step.route = local >= 0 ? Route::shm : Route::port;
    step.peer = local >= 0 ? local : op.peer;
    const Channel channel{false, step.route, step.published, step.peer};
    if (op.kind == OpKind::recv_reduce) {
      if (step.route == Route::port) return add_landing(step, channel);
      if (!combining_.direct) stage(step);
    }
    push(step, {channel});
  }

  /// The message lands where the result will lie, if it may. Operands never change places: of two ranks that exchange
  /// their sums each receives another one, and not even predefined operations always commute (which of 0 and -0 is the
  /// larger?).
  void stage(Step& step) {
    step.staged = true;
    const bool into_result = (combining_.kernel || !step.incoming_first) && !overlap(step.a, step.dst, step.bytes);
    step.b = into_result ? step.dst : landing_place(step.bytes);
  }
  static bool overlap(const Region& a, const Region& b, std::size_t bytes) {
    return a.buffer == b.buffer && a.offset < b.offset + bytes && b.offset < a.offset + bytes;
  }
  Region landing_place(std::size_t bytes) {
    const Region place{Buffer::temp, round_up(plan_.arena_bytes, cache_line)};
    plan_.arena_bytes = place.offset + bytes;
    return place;
  }

  /// A message that is to be combined has a place of its own, so it may come before the other operand is there.
  void add_landing(Step step, const Channel& channel) {
    const Region landing = landing_place(step.bytes), operand = step.a;
    Step message = step;
    message.kind = OpKind::recv;
    message.dst = landing;
    push(message, {channel});
    std::vector<std::uint32_t>& combined = combined_of_[channel];
    if (combined.size() >= landings_ahead)
      ends_.push_back({combined[combined.size() - landings_ahead], static_cast<std::uint32_t>(plan_.steps.size() - 1)});
    combined.push_back(static_cast<std::uint32_t>(plan_.steps.size()));
    step.kind = OpKind::reduce;
    step.route = Route::local;
    step.a = step.incoming_first ? landing : operand;
    step.b = step.incoming_first ? operand : landing;
    push(step, {});
  }
  bool lands(std::size_t op, std::uint32_t step) const {
    return schedule_.ops[op].kind == OpKind::recv_reduce && plan_.steps[step].kind == OpKind::recv;
  }

  void add_send(const Op& op, Step step) {
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
      push(step, channels);
    }
    step.route = Route::port;
    for (const std::int32_t rank : to) {
      if (reach_.local[rank] >= 0) continue;
      step.peer = rank;
      push(step, {Channel{true, Route::port, op.published, rank}});
    }
  }

  void push(const Step& step, const std::vector<Channel>& channels) {
    const auto self = static_cast<std::uint32_t>(plan_.steps.size());
    plan_.steps.push_back(step);
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
  const Layout& layout_;
  const Reach& reach_;
  const Combining combining_;
  Plan plan_;
  std::vector<std::size_t> temp_;
  std::vector<std::uint32_t> first_step_;  // op -> its first step
  std::map<Channel, std::uint32_t> last_on_;
  std::map<Channel, std::vector<std::uint32_t>> combined_of_;           // the steps that combine a channel's messages
  std::vector<std::pair<std::uint32_t, std::uint32_t>> starts_, ends_;  // who waits for whose start, for whose end
};

bool copies_beside(const Plan& plan) {
  const auto is_long = [](const Step& step, OpKind kind, Route route) {
    return step.kind == kind && step.route == route && step.waits_for == 0 && step.bytes >= long_copy;
  };
  const auto copies = [&](const Step& step) { return is_long(step, OpKind::copy, Route::local); };
  const auto only_copies_and = [&](OpKind kind) {
    return std::ranges::all_of(plan.steps,
                               [&](const Step& step) { return copies(step) || is_long(step, kind, Route::shm); });
  };
  return std::ranges::any_of(plan.steps, copies) && (only_copies_and(OpKind::send) || only_copies_and(OpKind::recv));
}

std::size_t only_short_receives_from(const Plan& plan) {
  if (plan.messages || plan.longest > short_message) return plan.steps.size();
  const auto last_send =
      std::find_if(plan.steps.rbegin(), plan.steps.rend(), [](const Step& step) { return step.kind == OpKind::send; });
  return static_cast<std::size_t>(plan.steps.rend() - last_send);
}

}  // namespace

Parts unequal_parts(std::span<const std::size_t> counts) {
  Parts parts;
  parts.starts.reserve(counts.size() + 1);
  parts.starts.push_back(0);
  for (const std::size_t count : counts) parts.starts.push_back(parts.starts.back() + count);
  return parts;
}

std::size_t Layout::before_piece(std::size_t count, std::size_t piece) const {
  const auto n = static_cast<std::size_t>(pieces);
  if (piece == n) return count;
  // count * piece / n without overflow.
  std::size_t cut = count / n * piece + count % n * piece / n;
  if (element > 0 && cache_line % element == 0 && count / n * element >= align_blocks_from)
    cut -= cut % (cache_line / element);
  return cut;
}

std::size_t Layout::offset(Buffer buffer, std::int64_t block) const {
  const Parts& parts = buffer == Buffer::send ? send : recv;
  const auto part = static_cast<std::size_t>(block / pieces), piece = static_cast<std::size_t>(block % pieces);
  const bool equal = parts.starts.empty();
  const std::size_t before = equal ? part * parts.count : parts.starts[part];
  if (piece == 0) return before * element;  // one past the last part, too
  const std::size_t count = equal ? parts.count : parts.starts[part + 1] - before;
  return (before + before_piece(count, piece)) * element;
}

Plan bind(const Schedule& schedule, const Layout& layout, const Reach& reach, Combining combining) {
  Plan plan = Binder(schedule, layout, reach, combining).bind();
  for (const Step& step : plan.steps) plan.longest = std::max(plan.longest, step.bytes);
  plan.copies_beside = copies_beside(plan);
  const auto first_message = std::ranges::find(plan.steps, Route::port, &Step::route);
  plan.messages = first_message != plan.steps.end();
  plan.in_order = plan.copies_beside ? 0 : static_cast<std::size_t>(first_message - plan.steps.begin());
  plan.only_short_receives_from = only_short_receives_from(plan);
  return plan;
}

}  // namespace omnes::inline runtime
