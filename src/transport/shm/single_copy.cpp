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
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "transport/shm/cma.hpp"
#include "transport/shm/copy.hpp"
#include "transport/shm/endpoint.hpp"

namespace omnes::shm {

namespace {

enum class Offer : std::uint64_t { none, third, half, whole, claimed, written, failed };
std::uint64_t offer_word(Offer state, std::uint32_t sequence) {
  return std::uint64_t{sequence} << 3 | static_cast<std::uint64_t>(state);
}

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
  left_over_ |= left_mismatch;
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
  if (source.bytes != bytes || (transfer.stage == Stage::fresh && !worth_sharing(from, source, into))) {
    pull(from, part_of(source, 0, std::min(bytes, source.bytes)), into);
    return true;
  }
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
  const auto pull_from = [&](std::size_t start) {
    pull(from, part_of(source, start, bytes - start), static_cast<std::byte*>(into) + start);
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
    pull(from, part_of(source, 0, start), into);
    if (withdrawn(part)) {
      pull_from(start);
      return true;
    }
    transfer.stage = Stage::offered_part;
  }
  const std::uint64_t state = offer.load(std::memory_order_acquire);
  if (state == offer_word(Offer::claimed, sequence)) return false;
  const std::size_t offered = transfer.stage == Stage::offered_part ? start : 0;
  if (state == offer_word(Offer::failed, sequence)) {
    pull_from(offered);
  } else {
    take_from_heap(static_cast<std::byte*>(into), bytes, offered);
  }
  return true;
}

bool Endpoint::take_single(Inbox&, int from, const RemoteBuffer& source, const Sink& sink, std::size_t bytes,
                           Transfer&) {
  const std::size_t end = std::min(bytes, source.bytes);
  if (const std::byte* data = mapped(from, source)) {
    sink.fn(sink.context, 0, data, end);
    return true;
  }
  staging_.resize(staging_bytes);
  for (std::size_t done = 0, n = 0; done < end; done += n) {
    n = std::min(staging_bytes, end - done);
    if (!pull(from, part_of(source, done, n), staging_.data())) break;
    sink.fn(sink.context, done, staging_.data(), n);
  }
  return true;
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

// Pushes what they offer of posted message `sequence` to its readers.
void Endpoint::help(const Target& to, const std::byte* data, std::size_t bytes, std::uint32_t sequence) {
  for (const std::int32_t reader : to.readers) {
    const Peer& peer = peers_[reader];
    Intake& intake = to.published ? peer.consumed->published : peer.consumed->pair;
    std::uint64_t open = intake.offer.load(std::memory_order_acquire);
    const auto what = static_cast<Offer>(open & 7);
    if (open != offer_word(what, sequence) || what < Offer::third || what > Offer::whole) continue;
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
