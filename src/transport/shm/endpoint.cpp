// The slow paths of an endpoint: set-up, fragments through slots, single copies, sets, and full rings.
//
// Why a message cannot be stuck for lack of slots: slots are shared by the channels of their owner, so readers that are
// not due yet may hold them all. When that has lasted for a while, a message whose own channel is idle travels inline
// through its own ring, which no other channel can block, until a slot comes free. A channel that is not idle needs no
// help: its readers take what it has in flight, which frees slots or makes it idle. A set advances with its slowest
// reader; if that one depends on a faster one, the set stalls, and is split: from there on it is one message per reader.
#include "transport/shm/endpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "transport/shm/copy.hpp"
#include "transport/shm/nonce.hpp"
#include "transport/shm/policy.hpp"
#include "transport/shm/system_memory.hpp"

namespace omnes::shm {

namespace {

// Calls; so many are a few us of polling, far longer than a reader that is at work needs to free a slot.
constexpr std::uint16_t patience = 256;
constexpr std::size_t pages_at_once = 8;  // of slots that are taken into use without a look at what is free

// True while fragment `sequence` is among the last ones sent that are not taken. Right for any wrap of the numbers;
// once in 2^32 fragments a number long taken may look outstanding again, for as long as a new fragment of that number
// is.
bool outstanding(std::uint32_t sequence, std::uint32_t sent, std::uint32_t taken) {
  return sent - sequence < sent - taken;
}

bool have_all_come(const Layout& layout, int p) {
  for (int q = 0; q < p; ++q)
    if (std::atomic_ref(layout.identity(q)->pid).load(std::memory_order_relaxed) == 0) return false;
  return true;
}

}  // namespace

Endpoint::Endpoint(std::shared_ptr<Segment> segment, int rank, std::uint32_t first, int lane)
    : pair_lines_(static_cast<std::uint32_t>(segment->geometry().of_lane(lane).pair_lines())),
      peers_(segment->geometry().p),
      segment_(std::move(segment)),
      geometry_(segment_->geometry().of_lane(lane)),
      layout_(geometry_, segment_->base(lane)),
      rank_(rank),
      single_copy_from_(usual_single_copy_from),
      slot_uses_(geometry_.slots) {
  OMNES_ASSERT(rank >= 0 && rank < geometry_.p);
  OMNES_ASSERT(first <= UINT32_MAX - pair_lines_);
  published_ = {layout_.publish_ring(rank), first, first};
  if (has_several_memories()) {
    std::byte* region = layout_.region(rank);
    const std::size_t used = Layout::control_lines(geometry_) * line_bytes;
    for (std::size_t page = 0; page < used; page += page_bytes) region[page + page_bytes - 1] = std::byte{0};
  }

  Identity& self = *layout_.identity(rank);
  self.rank_nonce = new_nonce();
  self.address = reinterpret_cast<std::uint64_t>(&self);
  std::atomic_ref(self.pid).store(getpid(), std::memory_order_relaxed);

  for (int q = 0; q < geometry_.p; ++q) {
    peers_[q].sleep_word = layout_.sleep_word(q);
    if (q == rank) continue;
    others_.push_back(q);
    Consumed& own = *layout_.consumed(rank, q);
    own.pair.taken.store(first, std::memory_order_relaxed);
    own.published.taken.store(first, std::memory_order_relaxed);
    Peer& peer = peers_[q];
    peer.in = Inbox{layout_.pair_ring(q, rank), &own.pair, pair_lines_ - 1, first};
    peer.published_in = Inbox{layout_.publish_ring(q), &own.published, publish_lines - 1, first};
    peer.out = Outbox{layout_.pair_ring(rank, q), first, first};
    peer.consumed = layout_.consumed(q, rank);
  }
}

void Endpoint::touch_slots(std::size_t bytes) {
  bytes = std::min(bytes, static_cast<std::size_t>(geometry_.slots) * geometry_.slot_bytes);
  for (std::size_t at = 0; at < bytes; at += page_bytes) {
    const std::size_t slot = at / geometry_.slot_bytes;
    std::memset(layout_.slot(rank_, slot) + at % geometry_.slot_bytes, 0, 1);
  }
}

bool Endpoint::all_have_come(const Segment& segment) { return have_all_come(segment.layout(), segment.geometry().p); }

bool Endpoint::all_have_come() const { return have_all_come(layout_, geometry_.p); }

void Endpoint::let_go(const Segment& segment, int rank, std::uint32_t times) {
  std::atomic_ref(segment.layout().identity(rank)->let_go).store(times, std::memory_order_release);
}

bool Endpoint::all_have_let_go(const Segment& segment, std::uint32_t times) {
  for (int q = 0; q < segment.geometry().p; ++q)
    if (std::atomic_ref(segment.layout().identity(q)->let_go).load(std::memory_order_acquire) != times) return false;
  return true;
}

bool Endpoint::given_up(const Segment& segment, int rank) {
  return std::atomic_ref(segment.layout().identity(rank)->let_go).load(std::memory_order_relaxed) == never_again;
}

bool Endpoint::given_up_by_any(const Segment& segment) {
  for (int q = 0; q < segment.geometry().p; ++q)
    if (given_up(segment, q)) return true;
  return false;
}

// Brings the private copy of a reader's counter (everyone: of the slowest reader's) up to date.
void Endpoint::look_at_counter(int reader) {
  std::uint32_t behind = 0;
  if (reader != everyone) {
    Outbox& out = peers_[reader].out;
    out.taken = peers_[reader].consumed->pair.taken.load(std::memory_order_acquire);
    behind = out.sent - out.taken;
  } else {
    for (const std::int32_t q : others_)
      behind = std::max(behind, published_.sent - peers_[q].consumed->published.taken.load(std::memory_order_acquire));
    published_.taken = published_.sent - behind;
  }
  max_behind_ = std::max(max_behind_, behind);
}

bool Endpoint::may_be_outstanding(const Use& use) const {
  const Outbox& out = use.reader == everyone ? published_ : peers_[use.reader].out;
  return outstanding(use.sequence, out.sent, out.taken);
}

bool Endpoint::taken(int reader, std::uint32_t sequence) {
  const Use use{reader, sequence};
  if (may_be_outstanding(use)) look_at_counter(reader);
  return !may_be_outstanding(use);
}

// True if each of the target's rings can take one more line.
bool Endpoint::room(const Target& to) {
  if (to.published) return taken(everyone, published_.sent + 1 - publish_lines);
  return std::all_of(to.readers.begin(), to.readers.end(),
                     [&](std::int32_t reader) { return taken(reader, peers_[reader].out.sent + 1 - pair_lines_); });
}

// True if all that was sent to the target has been taken.
bool Endpoint::idle(const Target& to) {
  if (to.published) return taken(everyone, published_.sent);
  return std::all_of(to.readers.begin(), to.readers.end(),
                     [&](std::int32_t reader) { return taken(reader, peers_[reader].out.sent); });
}

// Writes one line in each of the target's rings, which have room.
void Endpoint::post(const Target& to, std::uint64_t header, const void* payload, std::size_t payload_bytes) {
  const auto write = [&](Outbox& out, std::uint32_t depth) {
    OMNES_ASSERT(out.sent - out.taken < depth);
    Line& line = out.lines[out.sent & (depth - 1)];
    copy_small(line.payload, payload, payload_bytes);
    line.header = static_cast<std::uint32_t>(header);
    line.sequence.store(++out.sent, std::memory_order_release);
  };
  if (to.published) {
    write(published_, publish_lines);
  } else {
    for (const std::int32_t reader : to.readers) write(peers_[reader].out, pair_lines_);
  }
  for (const std::int32_t reader : to.readers) wake(reader);
}

// By turns those that were used before: the first touch of a page costs more than copying one (5 us in a virtual machine,
// in which 32 KiB are copied). A new one where all of them may be under way, and where that spares looks at the readers'
// counters: for small fragments, and until twice as many were used as readers lag behind.
int Endpoint::free_slot(std::size_t bytes) {
  const auto all_slots = static_cast<std::uint32_t>(geometry_.slots);
  const std::size_t pages = (bytes + page_bytes - 1) / page_bytes;
  const bool may_grow =
      used_slots_ < all_slots && (used_slots_ < 2 * max_behind_ || used_slots_ * pages < pages_at_once);
  for (std::uint32_t tried = 0; tried < used_slots_; ++tried) {
    const std::uint32_t slot = next_slot_;
    std::vector<Use>& uses = slot_uses_[slot];
    if (may_grow && !uses.empty() && may_be_outstanding(uses.back())) break;
    next_slot_ = slot + 1 == used_slots_ ? 0 : slot + 1;
    while (!uses.empty() && taken(uses.back().reader, uses.back().sequence)) uses.pop_back();
    if (uses.empty()) return static_cast<int>(slot);
  }
  return used_slots_ < all_slots ? static_cast<int>(used_slots_++) : -1;
}

// The slot's last fragment went to this target: it is free again when all have taken it.
void Endpoint::occupy(int slot, const Target& to) {
  OMNES_ASSERT(slot >= 0 && static_cast<std::uint32_t>(slot) < used_slots_);
  OMNES_ASSERT(slot_uses_[slot].empty());
  if (to.published) {
    slot_uses_[slot].push_back({everyone, published_.sent});
  } else {
    for (const std::int32_t reader : to.readers) slot_uses_[slot].push_back({reader, peers_[reader].out.sent});
  }
}

bool Endpoint::send_slowly(const Target& to, const Outgoing& message, std::size_t bytes, Transfer& transfer) {
  using Stage = Transfer::Stage;
  if (transfer.split != 0) return send_split(to, message, bytes, transfer);
  if (transfer.stage == Stage::fresh) {
    if (message.source.fn != nullptr || !single(to, message.data, bytes)) {
      transfer.stage = Stage::fragments;
    } else if (!to.published && to.readers.size() > 1) {
      split(to, transfer);
      return send_split(to, message, bytes, transfer);
    } else if (room(to)) {
      RemoteBuffer source = bring_into_heap(message.data, bytes);
      source.busy_sender = transfer.busy;
      post(to, header(Carry::single, true, 0), &source, sizeof source);
      transfer.last = to.published ? published_.sent : peers_[to.readers[0]].out.sent;
      transfer.stage = Stage::posted;
      ++posted_;
    } else {
      return false;
    }
  }
  if (transfer.stage == Stage::posted) {
    help(to, message.data, bytes, transfer.last);
    const bool complete = taken(to.published ? everyone : to.readers[0], transfer.last);
    if (complete) --posted_;
    return complete;
  }
  return send_fragments(to, message, bytes, transfer);
}

// Fills a slot that readers are to see next.
OutwardCopy::Written Endpoint::write_slot(const Target& to, int slot, const Outgoing& message, std::size_t offset,
                                          std::size_t bytes) {
  std::byte* const into = layout_.slot(rank_, slot);
  const auto& reading = to.readers.empty() ? OutwardCopy::not_known : peers_[to.readers[0]].consumed->reading;
  const auto& [fill, context] = message.source;
  if (fill == nullptr) return into_slots_.copy(into, message.data + offset, bytes, reading);
  return gathered_into_slots_.fill(into, bytes, reading,
                                   [&](std::byte* there) { fill(context, offset, there, bytes); });
}

bool Endpoint::send_fragments(const Target& to, const Outgoing& message, std::size_t bytes, Transfer& transfer) {
  const bool set = !to.published && to.readers.size() > 1;
  const Source& source = message.source;
  std::byte inside[inline_bytes];
  const auto next_inside = [&](std::size_t n) -> const std::byte* {
    if (source.fn == nullptr) return message.data + transfer.done;
    source.fn(source.context, transfer.done, inside, n);
    return inside;
  };
  while (room(to)) {
    const std::size_t left = bytes - transfer.done;
    if (left <= inline_bytes) {
      post(to, header(Carry::inside, true, left), next_inside(left), left);
      return true;
    }
    std::size_t n = std::min(left, geometry_.slot_bytes);
    if (bytes <= inline_message_bytes) {
      n = inline_fragment_bytes;
      post(to, header(Carry::inside, false, n), next_inside(n), n);
    } else if (const int slot = free_slot(n); slot >= 0) {
      transfer.stalled = 0;
      starved_ -= starved_ / 4;  // where slots were short they soon are again
      const InSlot where{slot, write_slot(to, slot, message, transfer.done, n)};
      post(to, header(Carry::slot, n == left, n), &where, sizeof where);
      occupy(slot, to);
    } else if (!set && (transfer.squeezed || (starved_ >= patience && idle(to)))) {
      transfer.squeezed = true;
      n = inline_fragment_bytes;
      post(to, header(Carry::inside, false, n), next_inside(n), n);
    } else {
      starved_ = std::min<std::uint32_t>(starved_ + 1, patience);
      break;
    }
    transfer.done += n;
    if (n == left) return true;
  }
  if (!set || ++transfer.stalled <= patience) return false;
  split(to, transfer);
  return send_split(to, message, bytes, transfer);
}

// From here on each reader of the set has a transfer of its own, starting where the set stands.
void Endpoint::split(const Target& to, Transfer& transfer) {
  auto parts = std::find_if(splits_.begin(), splits_.end(), [](const auto& entry) { return entry.empty(); });
  if (parts == splits_.end()) parts = splits_.emplace(parts);
  Transfer part = transfer;
  part.stalled = 0;
  parts->assign(to.readers.size(), part);
  transfer.split = static_cast<std::uint16_t>(parts - splits_.begin() + 1);
  transfer.stage = Transfer::Stage::split;
}

bool Endpoint::send_split(const Target& to, const Outgoing& message, std::size_t bytes, Transfer& transfer) {
  using Stage = Transfer::Stage;
  OMNES_ASSERT(transfer.split <= splits_.size() && splits_[transfer.split - 1].size() == to.readers.size());
  std::vector<Transfer>& parts = splits_[transfer.split - 1];
  bool posted = true, complete = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Stage& stage = parts[i].stage;
    const Target reader{to.readers.subspan(i, 1), false};
    if (stage != Stage::complete && send_slowly(reader, message, bytes, parts[i])) stage = Stage::complete;
    complete = complete && stage == Stage::complete;
    posted = posted && (stage == Stage::complete || stage == Stage::posted);
  }
  if (posted) transfer.stage = Stage::posted;
  if (complete) parts.clear();
  return complete;
}

// Fragments in lines, which the writer is told of all at once; what comes in another way is left to receive_slowly().
template <class Into>
bool Endpoint::receive_lines(Inbox& in, int from, Into into, std::size_t bytes, Transfer& transfer) {
  const std::uint32_t before = in.taken;
  const auto tell = [&] {
    in.intake->taken.store(in.taken, std::memory_order_release);
    if (((in.taken ^ before) & ~in.mask) != 0) wake(from);  // as in advance()
  };
  for (;; ++in.taken) {
    const Line& line = in.lines[in.taken & in.mask];
    if (line.sequence.load(std::memory_order_acquire) != in.taken + 1) {
      tell();
      return false;
    }
    const std::size_t end = transfer.done + inline_fragment_bytes;
    if (line.header != header(Carry::inside, false, inline_fragment_bytes) || end > bytes) break;
    take_inline(into, transfer.done, line.payload, inline_fragment_bytes);
    transfer.done = end;
  }
  const Line& line = in.lines[in.taken & in.mask];
  const std::size_t left = bytes - transfer.done;
  const bool last = transfer.done < bytes && line.header == header(Carry::inside, true, left);
  if (last) {
    take_inline(into, transfer.done, line.payload, left);
    ++in.taken;
  }
  tell();
  return last || receive_slowly(in, from, into, bytes, transfer);
}

template bool Endpoint::receive_lines(Inbox&, int, void*, std::size_t, Transfer&);
template bool Endpoint::receive_lines(Inbox&, int, Sink, std::size_t, Transfer&);

template <class Into>
bool Endpoint::receive_slowly(Inbox& in, int from, Into into, std::size_t bytes, Transfer& transfer) {
  // Takes what fits; the rest only counts, so that the mismatch shows at the end. Less than `bytes` is none, as of any message of MPI; but a
  // sink counts on all of it.
  const auto deliver = [&](const std::byte* data, std::size_t length) {
    const std::size_t n = transfer.done < bytes ? std::min(length, bytes - transfer.done) : 0;
    if constexpr (std::is_same_v<Into, Sink>) {
      if (n > 0) into.fn(into.context, transfer.done, data, n);
    } else {
      if (n > 0) copy_bytes(static_cast<std::byte*>(into) + transfer.done, data, n);
    }
    transfer.done += length;
  };
  for (;;) {
    const Line& line = in.lines[in.taken & in.mask];
    if (line.sequence.load(std::memory_order_acquire) != in.taken + 1) return false;
    const std::uint32_t header = line.header;
    if (carry_of(header) == Carry::inside) {
      deliver(line.payload, bytes_of(header));
    } else if (carry_of(header) == Carry::slot) {
      InSlot where;
      std::memcpy(&where, line.payload, sizeof where);
      OMNES_ASSERT(where.slot >= 0 && where.slot < geometry_.slots && bytes_of(header) <= geometry_.slot_bytes);
      Pace& pace = layout_.consumed(rank_, from)->reading[static_cast<std::size_t>(where.written.way)];
      pace.time(where.written.timed, bytes_of(header),
                [&] { deliver(layout_.slot(from, where.slot), bytes_of(header)); });
    } else {
      RemoteBuffer source;
      std::memcpy(&source, line.payload, sizeof source);
      if (!take_single(in, from, source, into, bytes, transfer)) return false;
      transfer.done = source.bytes;
    }
    advance(in, from);
    wake(from);
    if (is_last(header)) {
      if (transfer.done > bytes || (std::is_same_v<Into, Sink> && transfer.done < bytes)) left_over_ |= left_mismatch;
      return true;
    }
  }
}

template bool Endpoint::receive_slowly(Inbox&, int, void*, std::size_t, Transfer&);
template bool Endpoint::receive_slowly(Inbox&, int, Sink, std::size_t, Transfer&);

}  // namespace omnes::shm
