// One rank's view of a shared-memory segment: sends and receives that can be resumed.
//
// Overview: ranks are local, 0..p-1 within the segment. A call moves what it can and says whether the message is
// complete; if not, call again with the same arguments. On one channel (from one rank to another, or one rank's
// publishes) messages are matched in the order in which they start: a receive must be complete, and a send complete or
// posted(), before the next one on its channel starts. Different channels mix freely.
//
// Why it is correct. Every line, slot and counter has one writer, the owner of its region, and the numbers that a rank
// compares them with are private to it. Two hand-overs carry all data:
// * payload: the writer fills line and slot, then stores `sequence` (release); the reader loads `sequence` (acquire),
//   then reads them. Equality with the number it waits for means that this very fragment is complete: a line shows its
//   numbers in steps of the ring's depth.
// * space: the reader reads line and slot, then stores its counter (release: its loads cannot move below); the writer
//   loads the counter (acquire) before it writes them again. It looks only when its private copy, which may lag but
//   never leads, says that the ring may be full.
// Numbers are 32 bits and wrap; they are compared by equality and by differences of at most the ring's depth, so
// wrapping does no harm. A single-copy message is copied out of its owner's buffer between the two hand-overs, and its
// send completes with the second; single_copy.cpp has how both sides share the work.
//
// Some words have other writers too, and none carries data: a sleep word, which a waker clears (waiting.hpp), and a long
// single copy's two, by which both sides agree who copies what.
//
// Cost: a tiny message is one cache line handed over. Nothing in the data path is a read-modify-write, a full fence or
// a system call, except for single copies, for waking a rank that has gone to sleep, and where fence_wakes() is on.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "transport/shm/copy.hpp"
#include "transport/shm/geometry.hpp"
#include "transport/shm/heap/adoption.hpp"
#include "transport/shm/heap/heap.hpp"
#include "transport/shm/heap/shared_windows.hpp"
#include "transport/shm/layout.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/waiting.hpp"

namespace omnes::shm {

/// Called with each fragment of an incoming message, in order: `data` may lie in shared memory and is valid during the
/// call only. It is aligned to 8 bytes, and fragments but the last are multiples of 16 bytes: operands of 1, 2, 4, 8
/// or 16 bytes are never cut. Not called for 0 bytes.
using SinkFn = void (*)(void* context, std::size_t offset, const void* data, std::size_t bytes);
struct Sink {
  SinkFn fn = nullptr;
  void* context = nullptr;
};

/// Called for each fragment of an outgoing message, in order, perhaps for each of several readers: writes `bytes` bytes of
/// it, from byte `offset` on, to `to`, which may lie in shared memory.
using SourceFn = void (*)(void* context, std::size_t offset, std::byte* to, std::size_t bytes);
struct Source {
  SourceFn fn = nullptr;
  void* context = nullptr;
};

/// Progress of one message; zero-initialise before the first call.
struct Transfer {
  enum class Stage : std::uint8_t { fresh, fragments, split, posted, offered_part, offered_whole, refused, complete };

  std::size_t done = 0;       ///< bytes
  std::uint32_t last = 0;     ///< sequence number whose consumption completes a posted single copy
  std::uint16_t stalled = 0;  ///< calls in which a set has not moved
  std::uint16_t split = 0;    ///< split sets: which entry of the endpoint's pool, + 1
  Stage stage = Stage::fresh;
  bool squeezed = false;  ///< goes on inline, in as many lines as its ring has
  /// For its caller to set: this rank has something else to do first, so that its peer may as well copy more of a long
  /// message. Of a send, it counts when the message is posted; of a receive, in each call.
  bool busy = false;

  /// Everything is handed to the readers; the buffer must stay until the send is complete, but the channel is free for
  /// the next message.
  bool posted() const { return stage == Stage::posted; }
};

/// How this rank accesses the memory of a peer.
struct Access {
  std::int64_t pid = 0;                  ///< by system calls (CMA); 0: not at all
  std::shared_ptr<const PeerHeap> heap;  ///< mapped here; null: not
};

/// Aligned, so that its first cache line has all that small messages need of it.
class alignas(line_bytes) Endpoint {
 public:
  /// Where there is memory near and far, touches the rank's own control lines first, so that their pages lie near it; its
  /// slots nobody touches before it does.
  /// A new segment is what all channels start from: ranks that have not come yet are ranks that have sent and taken nothing. Where `first`, the number that channels start from, is not 0, every rank's constructor must have
  /// returned (a barrier) before any other call; it is equal on all ranks, and at least one lap of a ring before 2^32: unwritten lines show 0.
  Endpoint(std::shared_ptr<Segment> segment, int rank, std::uint32_t first = 0, int lane = 0);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// Tries on each peer, all of which are there, whether this rank can read its memory; until then, and where not, peers
  /// send to it through slots. No barrier after it.
  void probe_single_copy();
  /// The same where it is known, for each rank of the segment.
  void know_access(std::span<const Access> access);
  /// Whether every rank has an endpoint on the segment's first lane.
  static bool all_have_come(const Segment& segment);
  /// Or on this one's lane.
  bool all_have_come() const;

  // A segment may serve several users one after the other, each with all of its ranks. Its endpoints are kept, so that
  // queues go on where they stopped. Each rank says when it has done with it for the first, second, ... time:
  static void let_go(const Segment& segment, int rank, std::uint32_t times);
  /// After that the others may be used anew, and see what that rank has done until then.
  static bool all_have_let_go(const Segment& segment, std::uint32_t times);
  /// Or that it shall never be used again.
  static void give_up(const Segment& segment, int rank) { let_go(segment, rank, never_again); }
  static bool given_up(const Segment& segment, int rank);
  static bool given_up_by_any(const Segment& segment);

  /// Peers whose memory this rank can read.
  int single_copy_peers() const;
  /// Sends of at least so many bytes are single copies. Each rank may have its own value.
  void set_single_copy_from(std::size_t bytes) {
    single_copy_from_ = bytes;
    limit_inline_messages();
  }
  /// Sends of at least so many bytes that lie in this heap, too, where the reader has it mapped.
  void set_direct_copy_from(std::size_t bytes, Heap* heap) {
    direct_copy_from_ = bytes;
    heap_ = heap;
    limit_inline_messages();
  }
  /// Null where there is none, or no peer has it mapped.
  Heap* heap() const { return heap_; }
  /// Buffers of the program of at least so many bytes may come into this heap.
  void adopt_by(Adoption* adoption, std::size_t from = 0) {
    adoption_ = adoption;
    adopt_from_ = from;
  }
  /// Who sends or receives messages of at least so many bytes says from or into which buffers, before peers may write there.
  std::size_t buffers_matter_from() const {
    return adoption_ != nullptr ? std::min(single_copy_from_, direct_copy_from_) : SIZE_MAX;
  }
  /// Messages that follow are from or into this buffer, which belongs to a call, until done_with_buffers(). At most two.
  void use_buffer(std::byte* buffer, std::size_t bytes);
  void done_with_buffers();

  /// Sends of so many bytes that lie in a shared window are single copies, too.
  void use_windows(const SharedWindows* windows) { windows_ = windows; }

  /// Has the pages of the slots that this rank will use first, now rather than in a message; of a new segment.
  void touch_slots(std::size_t bytes);

  /// Makes sure that no sleeper is missed, at the price of a fence for each message: for ranks that sleep often.
  void fence_wakes() { fence_wakes_ = true; }
  /// A rank sleeps at this word, which all ranks know by then, instead of the segment's own.
  void sleeps_at(int rank, SleepWord* word) { peers_[rank].sleep_word = word; }

  int rank() const { return rank_; }
  int p() const { return geometry_.p; }
  const Geometry& geometry() const { return geometry_; }
  /// Where this rank sleeps: for WaitPolicy::sleep_word.
  SleepWord* sleep_word() const { return peers_[rank_].sleep_word; }

  /// To one or several readers (distinct, not this rank). Complete when the data are buffered; a single copy when all
  /// readers have taken them.
  bool send(std::span<const std::int32_t> readers, const void* data, std::size_t bytes, Transfer& transfer) {
    OMNES_ASSERT(are_peers(readers));
    if (readers.size() == 1 && bytes <= inline_up_to_) [[likely]] {
      if (write_inside(peers_[readers[0]].out, pair_lines_, data, bytes, transfer)) [[likely]] {
        wake(readers[0]);
        return true;
      }
    }
    return send_slowly({readers, false}, {static_cast<const std::byte*>(data)}, bytes, transfer);
  }
  /// What `source` writes, through lines and slots only.
  bool send(std::span<const std::int32_t> readers, Source source, std::size_t bytes, Transfer& transfer) {
    OMNES_ASSERT(are_peers(readers));
    return send_slowly({readers, false}, {nullptr, source}, bytes, transfer);
  }

  /// To every other rank.
  bool publish(const void* data, std::size_t bytes, Transfer& transfer) {
    if (bytes <= inline_up_to_ && write_inside(published_, publish_lines, data, bytes, transfer)) [[likely]] {
      wake_others();
      return true;
    }
    return send_slowly({others_, true}, {static_cast<const std::byte*>(data)}, bytes, transfer);
  }
  bool publish(Source source, std::size_t bytes, Transfer& transfer) {
    return send_slowly({others_, true}, {nullptr, source}, bytes, transfer);
  }

  /// Takes the next message from `from` into `into`, which has room for `bytes`.
  bool recv(int from, void* into, std::size_t bytes, Transfer& transfer) {
    return receive(peers_[from].in, from, into, bytes, transfer);
  }
  bool recv_published(int from, void* into, std::size_t bytes, Transfer& transfer) {
    return receive(peers_[from].published_in, from, into, bytes, transfer);
  }
  /// Hands the message to `sink` fragment by fragment, straight from where it lies.
  bool recv(int from, Sink sink, std::size_t bytes, Transfer& transfer) {
    return receive(peers_[from].in, from, sink, bytes, transfer);
  }
  bool recv_published(int from, Sink sink, std::size_t bytes, Transfer& transfer) {
    return receive(peers_[from].published_in, from, sink, bytes, transfer);
  }

  /// True once a message was longer than its receiver expected (what was too much has been dropped), or shorter, where it
  /// went into a sink.
  bool mismatch() const { return (left_over_ & left_mismatch) != 0; }
  /// Whether an operation that has ended left something to see to: take_mismatch(), done_with_buffers().
  bool left_something() const { return left_over_ != 0; }
  /// The same for once: the next operation starts without blame.
  bool take_mismatch() { return (std::exchange(left_over_, left_over_ & ~left_mismatch) & left_mismatch) != 0; }
  /// The errno of the first single copy that failed, so that its data took another way, or 0.
  int copy_error() const { return copy_error_; }

 private:
  static constexpr std::uint32_t never_again = ~std::uint32_t{0};
  static constexpr std::uint8_t left_mismatch = 1, left_buffers = 2;

  struct Outbox {  // own ring, as its writer knows it
    Line* lines = nullptr;
    std::uint32_t sent = 0;  // fragments written
    std::uint32_t taken =
        0;  // what the reader's counter said when last looked at (of a publish ring: the slowest reader's)
  };
  struct Inbox {  // a peer's ring, as its reader knows it
    const Line* lines = nullptr;
    Intake* intake = nullptr;  // own: what the writer hears
    std::uint32_t mask = 0;    // ring depth - 1
    std::uint32_t taken = 0;
  };
  struct alignas(line_bytes) Peer {
    // What a small message needs to one reader and from it, in one line,
    Outbox out;
    SleepWord* sleep_word = nullptr;  // the peer's
    Inbox in;
    Consumed* consumed = nullptr;  // the peer's counters about this rank
    // and from one that publishes, in another.
    alignas(line_bytes) Inbox published_in;
    Access access;
  };
  struct Target {  // of a send
    std::span<const std::int32_t> readers;
    bool published;
  };
  struct Outgoing {  // what is sent: bytes in a row, or what a source writes
    const std::byte* data = nullptr;
    Source source = {};
  };
  static constexpr std::int32_t everyone = -1;  // as a reader: all other ranks, through the publish ring
  struct Use {                                  // a fragment in a slot, until it is taken
    std::int32_t reader;
    std::uint32_t sequence;
    bool operator==(const Use&) const = default;
  };

  bool is_peer(int rank) const { return rank >= 0 && rank < geometry_.p && rank != rank_; }
  bool are_peers(std::span<const std::int32_t> ranks) const {
    return std::ranges::all_of(ranks, [this](std::int32_t rank) { return is_peer(rank); });
  }

  /// A short message in one go, if its ring is known to have room for it.
  static bool write_inside(Outbox& out, std::uint32_t depth, const void* data, std::size_t bytes,
                           const Transfer& begun) {
    if (bytes > inline_bytes) return begun.stage == Transfer::Stage::fresh && write_lines(out, depth, data, bytes);
    if (out.sent - out.taken >= depth) [[unlikely]]
      return false;
    write_line(out, depth, data, bytes, true);
    return true;
  }
  static bool write_lines(Outbox& out, std::uint32_t depth, const void* data, std::size_t bytes) {
    constexpr std::size_t before_last = inline_fragment_bytes;
    const std::size_t lines = 1 + (bytes - inline_bytes + before_last - 1) / before_last;
    if (out.sent - out.taken + lines > depth) [[unlikely]]
      return false;
    const auto* next = static_cast<const std::byte*>(data);
    for (; bytes > inline_bytes; next += before_last, bytes -= before_last)
      write_line(out, depth, next, before_last, false);
    write_line(out, depth, next, bytes, true);
    return true;
  }
  static void write_line(Outbox& out, std::uint32_t depth, const void* data, std::size_t bytes, bool last) {
    OMNES_ASSERT(out.sent - out.taken < depth);
    OMNES_ASSERT(bytes <= inline_bytes);
    Line& line = out.lines[out.sent & (depth - 1)];
    copy_small(line.payload, data, bytes);
    line.header = static_cast<std::uint32_t>(header(Carry::inside, last, bytes));
    line.sequence.store(++out.sent, std::memory_order_release);
  }

  void limit_inline_messages() {
    const std::size_t copied_from = heap_ ? std::min(single_copy_from_, direct_copy_from_) : single_copy_from_;
    inline_up_to_ = std::clamp(copied_from, inline_bytes + 1, inline_message_bytes + 1) - 1;
  }

  void wake(int rank) {
    if (fence_wakes_) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    wake_if_asleep(*peers_[rank].sleep_word);
  }
  void wake_others() {
    if (fence_wakes_) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    for (const std::int32_t rank : others_) wake_if_asleep(*peers_[rank].sleep_word);
  }

  template <class Into>
  bool receive(Inbox& in, int from, Into into, std::size_t bytes, Transfer& transfer) {
    OMNES_ASSERT(is_peer(from));
    const Line& line = in.lines[in.taken & in.mask];
    if (line.sequence.load(std::memory_order_acquire) != in.taken + 1) return false;
    if (line.header == header(Carry::inside, true, bytes) && transfer.done == 0) [[likely]] {
      take_inline(into, 0, line.payload, bytes);
      advance(in, from);
      return true;
    }
    if (line.header == header(Carry::inside, false, inline_fragment_bytes))
      return receive_lines(in, from, into, bytes, transfer);
    return receive_slowly(in, from, into, bytes, transfer);
  }
  static void take_inline(void* into, std::size_t offset, const std::byte* payload, std::size_t bytes) {
    copy_small(static_cast<std::byte*>(into) + offset, payload, bytes);
  }
  static void take_inline(const Sink& sink, std::size_t offset, const std::byte* payload, std::size_t bytes) {
    if (bytes > 0) sink.fn(sink.context, offset, payload, bytes);
  }
  void advance(Inbox& in, int from) {
    in.intake->taken.store(++in.taken, std::memory_order_release);
    // The writer may sleep until there is room again; once a lap is soon enough.
    if ((in.taken & in.mask) == 0) wake(from);
  }

  bool send_slowly(const Target& to, const Outgoing& message, std::size_t bytes, Transfer& transfer);
  bool send_fragments(const Target& to, const Outgoing& message, std::size_t bytes, Transfer& transfer);
  bool send_split(const Target& to, const Outgoing& message, std::size_t bytes, Transfer& transfer);
  void split(const Target& to, Transfer& transfer);
  OutwardCopy::Written write_slot(const Target& to, int slot, const Outgoing& message, std::size_t offset,
                                  std::size_t bytes);
  void post(const Target& to, std::uint64_t header, const void* payload, std::size_t payload_bytes);
  bool single(const Target& to, const std::byte* data, std::size_t bytes) const;
  bool in_window(const void* data, std::size_t bytes) const;
  std::byte* in_heap(const void* data, std::size_t bytes) const;
  const Adopted* adopted(const void* data, std::size_t bytes) const;
  RemoteBuffer bring_into_heap(const std::byte* data, std::size_t bytes) const;
  void take_from_heap(std::byte* into, std::size_t bytes, std::size_t from) const;
  bool may_be_read_by(const Target& to, std::uint32_t ways) const;
  bool room(const Target& to);
  bool idle(const Target& to);
  bool may_be_outstanding(const Use& use) const;
  bool taken(int reader, std::uint32_t sequence);
  void look_at_counter(int reader);
  int free_slot(std::size_t bytes);
  void occupy(int slot, const Target& to);
  template <class Into>
  bool receive_lines(Inbox& in, int from, Into into, std::size_t bytes, Transfer& transfer);
  template <class Into>
  bool receive_slowly(Inbox& in, int from, Into into, std::size_t bytes, Transfer& transfer);
  // single_copy.cpp
  const std::byte* mapped(int from, const RemoteBuffer& source) const;
  bool pull(int from, const RemoteBuffer& source, void* into);
  bool take_single(Inbox& in, int from, const RemoteBuffer& source, void* into, std::size_t bytes, Transfer& transfer);
  bool take_single(Inbox& in, int from, const RemoteBuffer& source, const Sink& sink, std::size_t bytes,
                   Transfer& transfer);
  template <class Deliver>
  bool pull_staged(int from, const RemoteBuffer& source, std::size_t end, Transfer& transfer, const Deliver& deliver);
  template <class Deliver>
  bool take_pieces(Inbox& in, int from, const RemoteBuffer& source, std::size_t end, Transfer& transfer,
                   const Deliver& deliver);
  bool worth_sharing(int from, const RemoteBuffer& source, const void* into) const;
  bool push(const Access& access, std::uint64_t into, const std::byte* data, std::size_t bytes);
  void help(const Target& to, const std::byte* data, std::size_t bytes, std::uint32_t sequence);
  void hand_piece(const Target& to, std::int32_t reader, const std::byte* data, std::size_t bytes,
                  std::uint32_t sequence);

  // What small messages need, in one line up to where the peers are.
  std::size_t inline_up_to_ = inline_message_bytes;  // bytes that go inline at once where there is room
  std::uint32_t pair_lines_;
  bool fence_wakes_ = false;
  std::uint8_t left_over_ = 0;
  Outbox published_;
  std::vector<std::int32_t> others_;
  std::vector<Peer> peers_;
  // Set once.
  std::shared_ptr<Segment> segment_;
  Geometry geometry_;
  Layout layout_;
  int rank_;
  std::size_t single_copy_from_;
  std::size_t direct_copy_from_ = 0;
  Heap* heap_ = nullptr;          // own; null: none that peers know
  Adoption* adoption_ = nullptr;  // into it
  std::size_t adopt_from_ = 0;
  std::array<Adopted*, 2> in_use_{};        // of the operation that runs
  const SharedWindows* windows_ = nullptr;  // of this process
  // What moves.
  std::vector<std::vector<Use>> slot_uses_;
  std::uint32_t used_slots_ = 0, next_slot_ = 0;
  std::uint32_t max_behind_ = 0;  // fragments that a reader was seen to lag behind
  OutwardCopy into_slots_, gathered_into_slots_, into_peers_;
  std::uint32_t posted_ = 0;   // single copies that are not complete
  std::uint32_t starved_ = 0;  // how often in a row a message has found no free slot, up to what is endured
  std::vector<std::vector<Transfer>> splits_;  // pool: one transfer per reader of a set
  std::vector<std::byte> staging_;
  int copy_error_ = 0;
};

}  // namespace omnes::shm
