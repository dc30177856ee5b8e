// Single copies: straight out of the sender's buffer, with the work shared between both sides.
//
// How. The reader offers the second half of the message to the sender, which waits anyway, and pulls the first half. A
// sender that sees the offer accepts it and pushes the second half. If it has not by the time the first half is done,
// the reader withdraws the offer and pulls the rest.
//
// Why it is correct. `offer` holds the message's sequence number and the offer's state. Two transitions compete, open
// -> claimed by the sender and open -> none by the reader; both are a compare-and-swap, so exactly one happens, and the
// number makes sure that the sender claims the very offer that it has read `into` for. It is the one word with two
// writers and the one read-modify-write of the transport: once per long message. After claimed, only the sender writes
// the word (release, after its push), and the reader waits for that (acquire) before it completes, so nobody writes
// into a buffer whose receive is over.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "transport/shm/cma.hpp"
#include "transport/shm/endpoint.hpp"

namespace omnes::shm {

namespace {

enum class Offer : std::uint64_t { none, open, claimed, written, failed };
std::uint64_t offer_word(Offer state, std::uint32_t sequence) {
  return std::uint64_t{sequence} << 3 | static_cast<std::uint64_t>(state);
}

// What a sink reads goes through a private buffer of so many bytes: a quarter of a common second-level cache, and long
// enough that the system call is a small part of the copy.
constexpr std::size_t staging_bytes = 128 * 1024;

// Bytes of the half that the reader pulls; whole cache lines, so that the two sides write none in common but by
// misalignment.
std::size_t first_half(std::size_t bytes) { return bytes / 2 / line_bytes * line_bytes; }

}  // namespace

void Endpoint::probe_single_copy() {
  for (const std::int32_t q : others_) {
    Peer& peer = peers_[q];
    const Identity& expected = *layout_.identity(q);
    Identity found;
    peer.pid = expected.pid;
    peer.reachable = read_process(expected.pid, expected.address, &found, sizeof found) == 0 &&
                     std::memcmp(&found, &expected, sizeof found) == 0;
    // Says no more than the bit itself, so it needs no ordering; a peer that does not see it yet uses slots.
    layout_.consumed(rank_, q)->may_read.store(peer.reachable, std::memory_order_relaxed);
  }
}

void Endpoint::know_single_copy(std::span<const std::int64_t> pids) {
  for (const std::int32_t q : others_) {
    peers_[q].pid = pids[q];
    peers_[q].reachable = pids[q] != 0;
    layout_.consumed(rank_, q)->may_read.store(peers_[q].reachable, std::memory_order_relaxed);
  }
}

int Endpoint::single_copy_peers() const {
  return static_cast<int>(std::count_if(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.reachable; }));
}

bool Endpoint::may_be_read_by(const Target& to) const {
  return std::all_of(to.readers.begin(), to.readers.end(), [&](std::int32_t reader) {
    return peers_[reader].consumed->may_read.load(std::memory_order_relaxed) != 0;
  });
}

void Endpoint::pull(int from, const RemoteBuffer& source, void* into) {
  const int error = read_process(peers_[from].pid, source.address, into, source.bytes);
  if (error == 0) return;
  if (copy_error_ == 0) copy_error_ = error;
  mismatch_ = true;
}

bool Endpoint::take_single(Inbox& in, int from, const RemoteBuffer& source, void* into, std::size_t bytes,
                           Transfer& transfer) {
  if (source.bytes != bytes) {
    pull(from, {source.address, std::min(bytes, source.bytes)}, into);
    return true;
  }
  const std::size_t half = first_half(bytes);
  const RemoteBuffer rest{source.address + half, bytes - half};
  std::byte* const into_rest = static_cast<std::byte*>(into) + half;
  std::atomic<std::uint64_t>& offer = in.intake->offer;
  const std::uint32_t sequence = in.taken + 1;
  if (transfer.stage == Transfer::Stage::fresh) {
    in.intake->into.store(reinterpret_cast<std::uint64_t>(into_rest), std::memory_order_relaxed);
    offer.store(offer_word(Offer::open, sequence), std::memory_order_release);
    wake(from);
    pull(from, {source.address, half}, into);
    std::uint64_t open = offer_word(Offer::open, sequence);
    if (offer.compare_exchange_strong(open, 0, std::memory_order_relaxed)) {
      pull(from, rest, into_rest);
      return true;
    }
    transfer.stage = Transfer::Stage::shared;
  }
  const std::uint64_t state = offer.load(std::memory_order_acquire);
  if (state == offer_word(Offer::claimed, sequence)) return false;
  if (state == offer_word(Offer::failed, sequence)) pull(from, rest, into_rest);
  return true;
}

bool Endpoint::take_single(Inbox&, int from, const RemoteBuffer& source, const Sink& sink, std::size_t bytes,
                           Transfer&) {
  staging_.resize(staging_bytes);
  const std::size_t end = std::min(bytes, source.bytes);
  for (std::size_t done = 0; done < end && copy_error_ == 0;) {
    const std::size_t n = std::min(staging_bytes, end - done);
    pull(from, {source.address + done, n}, staging_.data());
    if (copy_error_ == 0) sink.fn(sink.context, done, staging_.data(), n);
    done += n;
  }
  return true;
}

// Pushes the second half of posted message `sequence` to those readers that offer it.
void Endpoint::help(const Target& to, const std::byte* data, std::size_t bytes, std::uint32_t sequence) {
  for (const std::int32_t reader : to.readers) {
    const Peer& peer = peers_[reader];
    Intake& intake = to.published ? peer.consumed->published : peer.consumed->pair;
    std::uint64_t open = offer_word(Offer::open, sequence);
    if (intake.offer.load(std::memory_order_acquire) != open || !peer.reachable) continue;
    const std::uint64_t into = intake.into.load(std::memory_order_relaxed);
    if (!intake.offer.compare_exchange_strong(open, offer_word(Offer::claimed, sequence), std::memory_order_relaxed))
      continue;
    const std::size_t half = first_half(bytes);
    const bool failed = write_process(peer.pid, into, data + half, bytes - half) != 0;
    intake.offer.store(offer_word(failed ? Offer::failed : Offer::written, sequence), std::memory_order_release);
    wake(reader);
  }
}

}  // namespace omnes::shm
