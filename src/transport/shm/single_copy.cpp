// Single copies: straight out of the sender's buffer, with the work shared between both sides.
//
// How. The reader offers the second half of the message to the sender, which waits anyway, and pulls the first half. A
// sender that sees the offer accepts it and pushes the second half. If it has not by the time the first half is done,
// the reader withdraws the offer and pulls the rest. A sender that said that it is busy is offered the last third only.
// A reader that is busy offers the whole message; when it comes back, and nobody has accepted, it withdraws that offer
// and goes on as above. A reader that has posted single copies of its own takes part in an exchange, in which its sender
// reads, too: it offers nothing.
//
// Why it is correct. `offer` holds the message's sequence number and the offer's state. Two transitions compete, from
// an offer to claimed by the sender, and to none by the reader; both are a compare-and-swap, so exactly one happens, and
// number and state make sure that the sender claims the very offer that it has read `into` for: a message's offers are
// at most whole, none, half or third, in this order. It is the one word with two writers and the one
// read-modify-write of the transport: once per long message, or twice. After claimed, only the sender writes the word
// (release, after its push), and the reader waits for that (acquire) before it completes, so nobody writes into a
// buffer whose receive is over.
//
// What cannot be copied so. The system may refuse at any time what it has allowed once: to a process that has become another
// user's, or not dumpable, and for pages that are protected, or secret. What the reader's pages refuse is copied through
// memory of its own, so that a handler of faults that the program has set does its work. What the sender's refuse, the sender
// hands over piece by piece, and meets its own faults: the reader says `refused`, and `into` from which byte on it
// lacks the message; the sender copies some of it into a slot, or, where none is free, as others' messages may hold all
// until this one is through, into what its line leaves free; the reader takes that and asks for more. The word says by turns
// whose move it is (release, acquire). A published message has one such place, which serves one reader at a time.
// A slot counts as used until the line is taken. Where it was not for the pages, the reader no longer says that it
// may read this peer: messages that follow go through slots.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/shm/cma.hpp"
#include "transport/shm/copy.hpp"
#include "transport/shm/endpoint.hpp"

namespace omnes::shm {

namespace {

enum class Offer : std::uint64_t { none, third, half, whole, claimed, written, failed, refused, in_slot, in_line };
constexpr int state_bits = 4;
std::uint64_t offer_word(Offer state, std::uint32_t sequence) {
  return std::uint64_t{sequence} << state_bits | static_cast<std::uint64_t>(state);
}
Offer state_of(std::uint64_t word) { return static_cast<Offer>(word & ((1U << state_bits) - 1)); }

// Bytes of a piece in a line.
constexpr std::size_t piece_in_line = inline_bytes - sizeof(RemoteBuffer);
static_assert(piece_in_line % 16 == 0, "operands are not cut");

// What a sink reads goes through a private buffer of so many bytes: a quarter of a common second-level cache, and long
// enough that the system call is a small part of the copy.
constexpr std::size_t staging_bytes = 128 * 1024;

// Bytes from which on sharing is worth the hand-overs by which both sides agree: copying so many takes 2 to 6 us.
constexpr std::size_t shared_from = 32 * 1024;

// Bytes of a file's pages that Linux maps around one that is read (its default; others only cost time).
constexpr std::size_t mapped_by_reading = 64 * 1024;

// Where the offered part of a message starts; whole cache lines, so that the two sides write none in common but by
// misalignment.
std::size_t start_of(Offer offer, std::size_t bytes) {
  const std::size_t kept = offer == Offer::third ? bytes / 3 * 2 : offer == Offer::half ? bytes / 2 : 0;
  return kept / line_bytes * line_bytes;
}

RemoteBuffer part_of(RemoteBuffer source, std::size_t start, std::size_t bytes) {
  source.address += start;
  source.bytes = bytes;
  return source;
}

}  // namespace

void Endpoint::probe_single_copy() {
  std::vector<Access> access(peers_.size());
  for (const std::int32_t q : others_) {
    const Identity& expected = *layout_.identity(q);
    Identity found;
    const bool same = read_process(expected.pid, expected.address, &found, sizeof found) == 0 &&
                      std::memcmp(&found, &expected, sizeof found) == 0;
    access[q].pid = same ? expected.pid : 0;
  }
  know_access(access);
}

void Endpoint::know_access(std::span<const Access> access) {
  for (const std::int32_t q : others_) {
    peers_[q].access = access[q];
    const std::uint32_t ways = (access[q].pid != 0 ? by_call : 0) | (access[q].heap ? by_mapping : 0);
    // Says no more than its bits themselves, so it needs no ordering; a peer that does not see them yet uses slots.
    layout_.consumed(rank_, q)->may_read.store(ways, std::memory_order_relaxed);
  }
}

int Endpoint::single_copy_peers() const {
  return static_cast<int>(
      std::count_if(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.access.pid != 0; }));
}

// Whether a message is read straight out of its buffer.
bool Endpoint::single(const Target& to, const std::byte* data, std::size_t bytes) const {
  if (bytes <= inline_bytes) return false;
  if (heap_ != nullptr && bytes >= direct_copy_from_ && in_heap(data, bytes) && may_be_read_by(to, by_mapping))
    return true;
  // Readers that are no ranks of the window read by calls.
  return (bytes >= single_copy_from_ || in_window(data, bytes)) && may_be_read_by(to, by_call);
}

bool Endpoint::in_window(const void* data, std::size_t bytes) const {
  return windows_ != nullptr && bytes >= direct_copy_from_ && windows_->holds(data, bytes);
}

void Endpoint::use_buffer(std::byte* buffer, std::size_t bytes) {
  if (bytes < adopt_from_) return;
  Adopted* const found = adoption_->use(buffer, bytes);
  if (found == nullptr) return;
  OMNES_ASSERT(in_use_[1] == nullptr);
  in_use_[in_use_[0] != nullptr] = found;
  left_over_ |= left_buffers;
}

void Endpoint::done_with_buffers() {
  left_over_ &= ~left_buffers;
  for (Adopted*& adopted : in_use_)
    if (adopted != nullptr) adoption_->done(std::exchange(adopted, nullptr));
}

const Adopted* Endpoint::adopted(const void* data, std::size_t bytes) const {
  for (const Adopted* const adopted : in_use_)
    if (adopted != nullptr && adopted->in_heap(static_cast<const std::byte*>(data), bytes)) return adopted;
  return nullptr;
}

// Where that lies in the own heap, once bring_into_heap() has been there; null: not in it.
std::byte* Endpoint::in_heap(const void* data, std::size_t bytes) const {
  if (heap_ == nullptr) return nullptr;
  auto* const own = static_cast<std::byte*>(const_cast<void*>(data));
  if (heap_->holds(own)) return own;
  const Adopted* const found = adopted(own, bytes);
  return found != nullptr ? found->in_heap(own, bytes) : nullptr;
}

// Where readers find it.
RemoteBuffer Endpoint::bring_into_heap(const std::byte* data, std::size_t bytes) const {
  if (const Adopted* const found = adopted(data, bytes)) found->bring_ends(data, bytes);
  const std::byte* const inside = in_heap(data, bytes);
  return {.address = reinterpret_cast<std::uint64_t>(inside != nullptr ? inside : data),
          .bytes = bytes,
          .in_window = in_window(data, bytes),
          .in_heap = inside != nullptr};
}

// What a peer has written there from byte `from` on, where in_heap() has said that it lies there.
void Endpoint::take_from_heap(std::byte* into, std::size_t bytes, std::size_t from) const {
  if (const Adopted* const found = adopted(into, bytes)) found->take_ends(into + from, bytes - from);
}

bool Endpoint::may_be_read_by(const Target& to, std::uint32_t way) const {
  return std::all_of(to.readers.begin(), to.readers.end(), [&](std::int32_t reader) {
    return (peers_[reader].consumed->may_read.load(std::memory_order_relaxed) & way) != 0;
  });
}

// Where the source is mapped here, else null.
const std::byte* Endpoint::mapped(int from, const RemoteBuffer& source) const {
  const Access& access = peers_[from].access;
  if (source.in_window && windows_ != nullptr)
    if (const std::byte* data = windows_->here(access.pid, source.address, source.bytes)) return data;
  return source.in_heap && access.heap ? access.heap->here(source.address, source.bytes) : nullptr;
}

bool Endpoint::pull(int from, const RemoteBuffer& source, void* into) {
  if (const std::byte* data = mapped(from, source)) {
    copy_bytes(into, data, source.bytes);
    return true;
  }
  const Access& access = peers_[from].access;
  if (access.pid == 0 && access.heap && access.heap->read(source.address, into, source.bytes)) return true;
  const int error = read_process(access.pid, source.address, into, source.bytes);
  if (error == 0) return true;
  if (copy_error_ == 0) copy_error_ = error;
  if (error != EFAULT) {
    std::atomic<std::uint32_t>& ways = layout_.consumed(rank_, from)->may_read;
    ways.store(ways.load(std::memory_order_relaxed) & ~by_call, std::memory_order_relaxed);
  }
  return false;
}

// Pulls what is left before byte `end` through memory of this rank's own. False: not all could be pulled.
template <class Deliver>
bool Endpoint::pull_staged(int from, const RemoteBuffer& source, std::size_t end, Transfer& transfer,
                           const Deliver& deliver) {
  staging_.resize(staging_bytes);
  while (transfer.done < end) {
    const std::size_t n = std::min(staging_bytes, end - transfer.done);
    if (!pull(from, part_of(source, transfer.done, n), staging_.data())) return false;
    deliver(transfer.done, staging_.data(), n);
    transfer.done += n;
  }
  return true;
}

// Has what is left before byte `end` handed over by its owner.
template <class Deliver>
bool Endpoint::take_pieces(Inbox& in, int from, const RemoteBuffer& source, std::size_t end, Transfer& transfer,
                           const Deliver& deliver) {
  Intake& intake = *in.intake;
  const std::uint32_t sequence = in.taken + 1;
  if (transfer.stage == Transfer::Stage::refused) {
    const std::uint64_t state = intake.offer.load(std::memory_order_acquire);
    if (state == offer_word(Offer::refused, sequence)) return false;
    const bool in_slot = state == offer_word(Offer::in_slot, sequence);
    const std::size_t n = std::min(in_slot ? geometry_.slot_bytes : piece_in_line, end - transfer.done);
    const std::byte* const piece = in_slot ? layout_.slot(from, intake.into.load(std::memory_order_relaxed))
                                           : in.lines[in.taken & in.mask].payload + sizeof source;
    deliver(transfer.done, piece, n);
    transfer.done += n;
    if (transfer.done == end) {
      intake.offer.store(0, std::memory_order_release);
      return true;
    }
  }
  transfer.stage = Transfer::Stage::refused;
  intake.into.store(transfer.done, std::memory_order_relaxed);
  intake.offer.store(offer_word(Offer::refused, sequence), std::memory_order_release);
  wake(from);
  return false;
}

// Both sides should copy equally fast: by mappings of each other's heaps, or by system calls.
bool Endpoint::worth_sharing(int from, const RemoteBuffer& source, const void* into) const {
  if (source.bytes < shared_from || posted_ > 0) return false;
  return mapped(from, source) == nullptr || in_heap(into, source.bytes) != nullptr;
}

bool Endpoint::take_single(Inbox& in, int from, const RemoteBuffer& source, void* into, std::size_t bytes,
                           Transfer& transfer) {
  using Stage = Transfer::Stage;
  auto* const to = static_cast<std::byte*>(into);
  const std::size_t end = std::min(bytes, source.bytes);
  const auto deliver = [&](std::size_t offset, const std::byte* data, std::size_t n) {
    copy_bytes(to + offset, data, n);
  };
  const auto have_the_rest = [&] { return take_pieces(in, from, source, end, transfer, deliver); };
  const auto pull_to = [&](std::size_t stop) {
    if (!pull(from, part_of(source, transfer.done, stop - transfer.done), to + transfer.done))
      return pull_staged(from, source, stop, transfer, deliver);
    transfer.done = stop;
    return true;
  };
  if (transfer.stage == Stage::refused) return have_the_rest();
  if (source.bytes != bytes || (transfer.stage == Stage::fresh && !worth_sharing(from, source, into)))
    return pull_to(end) || have_the_rest();
  const std::uint32_t sequence = in.taken + 1;
  std::atomic<std::uint64_t>& offer = in.intake->offer;
  const auto make = [&](Offer what) {
    std::byte* const there = in_heap(into, bytes);
    const auto address = there != nullptr ? reinterpret_cast<std::uint64_t>(there) | in_heap_mark
                                          : reinterpret_cast<std::uint64_t>(into);
    in.intake->into.store(address + start_of(what, bytes), std::memory_order_relaxed);
    offer.store(offer_word(what, sequence), std::memory_order_release);
    wake(from);
  };
  const auto withdrawn = [&](Offer what) {
    std::uint64_t word = offer_word(what, sequence);
    return offer.compare_exchange_strong(word, 0, std::memory_order_relaxed);
  };
  const Offer part = source.busy_sender ? Offer::third : Offer::half;
  const std::size_t start = start_of(part, bytes);
  if (transfer.stage == Stage::fresh && transfer.busy) {
    make(Offer::whole);
    transfer.stage = Stage::offered_whole;
    return false;
  }
  if (transfer.stage == Stage::offered_whole && withdrawn(Offer::whole)) transfer.stage = Stage::fresh;
  if (transfer.stage == Stage::fresh) {
    make(part);
    const bool pulled = pull_to(start);
    if (withdrawn(part)) return (pulled && pull_to(end)) || have_the_rest();
    transfer.stage = Stage::offered_part;
  }
  const std::uint64_t state = offer.load(std::memory_order_acquire);
  if (state == offer_word(Offer::claimed, sequence)) return false;
  const std::size_t offered = transfer.stage == Stage::offered_part ? start : 0;
  if (transfer.done < offered) return have_the_rest();
  if (state == offer_word(Offer::failed, sequence)) return pull_to(end) || have_the_rest();
  take_from_heap(to, bytes, offered);
  return true;
}

bool Endpoint::take_single(Inbox& in, int from, const RemoteBuffer& source, const Sink& sink, std::size_t bytes,
                           Transfer& transfer) {
  const std::size_t end = std::min(bytes, source.bytes);
  const auto deliver = [&](std::size_t offset, const std::byte* data, std::size_t n) {
    sink.fn(sink.context, offset, data, n);
  };
  if (transfer.stage == Transfer::Stage::refused) return take_pieces(in, from, source, end, transfer, deliver);
  if (const std::byte* data = mapped(from, source)) {
    sink.fn(sink.context, 0, data, end);
    return true;
  }
  return pull_staged(from, source, end, transfer, deliver) || take_pieces(in, from, source, end, transfer, deliver);
}

// Writes into a peer's memory.
bool Endpoint::push(const Access& access, std::uint64_t into, const std::byte* data, std::size_t bytes) {
  const bool in_heap = (into & in_heap_mark) != 0;
  into &= ~in_heap_mark;
  if (std::byte* here = in_heap && access.heap ? access.heap->here(into, bytes) : nullptr) {
    // The first time, as to write on pages that are not mapped here yet costs 1.3 us each, and reading maps many for 5 us.
    for (std::size_t i = 0; i < bytes; i += mapped_by_reading)
      static_cast<void>(static_cast<volatile std::byte*>(here)[i]);
    into_peers_.copy(here, data, bytes);
    return true;
  }
  return access.pid != 0 && write_process(access.pid, into, data, bytes) == 0;
}

// Hands a reader the next piece of posted message `sequence`, unless another one still has its place.
void Endpoint::hand_piece(const Target& to, std::int32_t reader, const std::byte* data, std::size_t bytes,
                          std::uint32_t sequence) {
  const auto intake_of = [&](std::int32_t rank) -> Intake& {
    return to.published ? peers_[rank].consumed->published : peers_[rank].consumed->pair;
  };
  const bool taken_up = std::ranges::any_of(to.readers, [&](std::int32_t other) {
    const std::uint64_t state = intake_of(other).offer.load(std::memory_order_acquire);
    return state == offer_word(Offer::in_slot, sequence) || state == offer_word(Offer::in_line, sequence);
  });
  if (taken_up) return;
  Intake& intake = intake_of(reader);
  const std::size_t done = intake.into.load(std::memory_order_relaxed);
  OMNES_ASSERT(done < bytes);
  const Use use{to.published ? everyone : reader, sequence};
  const auto has_it = [&](const std::vector<Use>& uses) { return uses.size() == 1 && uses[0] == use; };
  const auto found = std::ranges::find_if(slot_uses_, has_it);
  int slot = static_cast<int>(found - slot_uses_.begin());
  if (found == slot_uses_.end()) {
    slot = free_slot(std::min(geometry_.slot_bytes, bytes - done));
    if (slot >= 0) slot_uses_[slot].push_back(use);
  }
  if (slot >= 0) {
    copy_bytes(layout_.slot(rank_, slot), data + done, std::min(geometry_.slot_bytes, bytes - done));
    intake.into.store(slot, std::memory_order_relaxed);
  } else {
    Line* const lines = to.published ? published_.lines : peers_[reader].out.lines;
    Line& line = lines[(sequence - 1) & ((to.published ? publish_lines : pair_lines_) - 1)];
    copy_small(line.payload + sizeof(RemoteBuffer), data + done, std::min(piece_in_line, bytes - done));
  }
  intake.offer.store(offer_word(slot >= 0 ? Offer::in_slot : Offer::in_line, sequence), std::memory_order_release);
  wake(reader);
}

// Pushes what they offer of posted message `sequence` to its readers.
void Endpoint::help(const Target& to, const std::byte* data, std::size_t bytes, std::uint32_t sequence) {
  for (const std::int32_t reader : to.readers) {
    const Peer& peer = peers_[reader];
    Intake& intake = to.published ? peer.consumed->published : peer.consumed->pair;
    std::uint64_t open = intake.offer.load(std::memory_order_acquire);
    const Offer what = state_of(open);
    if (open != offer_word(what, sequence)) continue;
    if (what == Offer::refused) hand_piece(to, reader, data, bytes, sequence);
    if (what < Offer::third || what > Offer::whole) continue;
    if (peer.access.pid == 0 && !peer.access.heap) continue;
    const std::uint64_t into = intake.into.load(std::memory_order_relaxed);
    if (!intake.offer.compare_exchange_strong(open, offer_word(Offer::claimed, sequence), std::memory_order_relaxed))
      continue;
    const std::size_t start = start_of(what, bytes);
    const bool failed = !push(peer.access, into, data + start, bytes - start);
    intake.offer.store(offer_word(failed ? Offer::failed : Offer::written, sequence), std::memory_order_release);
    wake(reader);
  }
}

}  // namespace omnes::shm
