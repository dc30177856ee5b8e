// What the ranks of a node tell each other of their calls, in memory that they share.
//
// Overview. Each rank owns an area, which it alone writes: what it is doing now, the objects (files) that its calls come from, and for each
// communicator a ring of notices, one a call. Others read.
// Why nobody waits: a rank posts its notice, then looks at those of others, and again later for what was not there (check.hpp). With a fence between
// the two, of two ranks at least the one that posts last sees the other's notice. Without one, who has got data from another, or waits for it, sees the
// notice that was posted before. One that has been overwritten, as its rank has gone 63 calls ahead, is not compared.
// Why readers see whole notices: a notice's number is cleared before it is written and set (release) after it; who reads looks at
// the number before (acquire) and after.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interpose/host/host.hpp"
#include "transport/shm/layout.hpp"

namespace omnes::interpose::check {

/// A call of one rank, as far as others have to know it. Plain bytes.
struct Notice {
  std::uint64_t bytes = 0, hash = 0;  ///< of the signature that has to match
  std::uint64_t site = 0;             ///< where it was called: see sources.hpp
  std::uint64_t parts = no_parts;  ///< where in the rank's arena the signatures of its parts are; or how long parts are
  std::int32_t root = -1;
  std::uint8_t function = 0;   ///< see names.hpp
  std::uint8_t reduction = 0;  ///< see names.hpp
  std::uint8_t type = 0;       ///< of all elements, for messages
  std::uint8_t flags = 0;
  static constexpr std::uint64_t no_parts = ~std::uint64_t{0};
  static constexpr std::uint8_t opaque = 1, unknown = 2;  ///< compare bytes only; not even these
  static constexpr std::uint8_t whole = 4;  ///< the same on all ranks; else only function, root, reduction
  /// In place of a root, on an intercommunicator: the rank gives MPI_PROC_NULL; what it gives is wrong.
  static constexpr std::int32_t beside_root = -2, no_root = -3;
};

/// The signature of a part.
struct Part {
  std::uint64_t bytes, hash;  ///< hash 0: compare bytes only
};

struct alignas(shm::line_bytes) Slot {
  std::atomic<std::uint64_t> number;  ///< of the call, at least 1
  Notice notice;
};
static_assert(sizeof(Slot) == shm::line_bytes);

struct alignas(shm::page_bytes) Ring {
  std::atomic<std::uint64_t> posted;  ///< calls
  std::atomic<bool> given_up;         ///< see Watched::give_up()
  static constexpr std::size_t depth = shm::page_bytes / shm::line_bytes - 1;
  Slot slots[depth];
};
static_assert(sizeof(Ring) == shm::page_bytes);

/// The last notices of a ring in a word each, which is what others look at first: several calls to a cache line.
struct alignas(shm::line_bytes) Digests {
  static constexpr std::size_t depth = 64;
  std::atomic<std::uint64_t> words[depth];  ///< see digest(), with the low bits of the call's number
};

struct alignas(shm::page_bytes) Area {
  static constexpr std::size_t max_rings = 512, max_objects = 31, name_bytes = 256;
  static constexpr std::size_t arena_parts = std::size_t{1} << 16;
  std::atomic<std::uint64_t> what;       ///< function it is in; 0: none that is seen
  std::atomic<std::uint64_t> last;       ///< it was in before
  std::atomic<std::int64_t> since;       ///< ns
  std::atomic<bool> full;                ///< there was no ring left for some communicator
  std::atomic<std::uint64_t> arena_end;  ///< parts that were ever put there
  alignas(
      shm::line_bytes) std::atomic<std::uint64_t> reported[64];  ///< of the node's first rank: waits that were reported
  alignas(shm::page_bytes) std::atomic<std::uint64_t> ids[max_rings];  ///< of the communicators that have the rings
  alignas(shm::page_bytes) char objects[max_objects][name_bytes];
  alignas(shm::page_bytes) Part arena[arena_parts];
  Digests digests[max_rings];
  Ring rings[max_rings];
};

/// Of all that has to match. Equal ones need no closer look.
std::uint64_t digest(const Notice& notice);

/// Collective over MPI_COMM_WORLD, after the ranks have met. False: there is no memory that they share.
bool make_board();
/// Of this rank.
inline Area* own_memory = nullptr;
inline Area& own_area() { return *own_memory; }
/// Of a rank of the world; null: it is on another node.
Area* area_of(int rank);
/// Whether this is the first in the node to say so.
bool first_to_report(std::uint64_t what);

/// A ring for a new communicator; -1: there is none left. The ring's number is the caller's until it gives it back.
int take_ring(std::uint64_t id);
void give_ring_back(int ring);
/// That rank's for a communicator; -1: there is none (yet). `hint`: where it was last.
int find_ring(const Area& area, std::uint64_t id, int hint);

/// `fence`: what is read afterwards is not older.
void post(Area& area, int ring, std::uint64_t number, const Notice& notice, std::uint64_t digest, bool fence);
/// None: not there, or not any more.
std::optional<Notice> read(const Area& area, int ring, std::uint64_t number);

/// Keeps the signatures of parts for others to see. Returns where.
std::uint64_t put_parts(const std::vector<Part>& parts);
/// Some of them. False: they have been overwritten.
bool read_parts(const Area& area, std::uint64_t at, std::size_t first, std::size_t count, Part* to);

/// Of a clock that all processes of the node have. ns, as fine as a scheduler's tick.
std::int64_t coarse_now();
/// The same, as it was when the thread that watches has looked last: not a second ago.
inline std::atomic<std::int64_t> last_look = 0;

}  // namespace omnes::interpose::check
