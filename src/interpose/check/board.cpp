// The memory, and who may use what of it.
#include "interpose/check/board.hpp"

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <mutex>

#include "interpose/communicator/origins.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"
#include "transport/shm/segment.hpp"

namespace omnes::interpose::check {

namespace {

struct Board {
  std::shared_ptr<shm::Segment> segment;
  std::vector<Area*> areas;  ///< by rank of the world
  std::mutex mutex;          ///< guards what follows, and this rank's arena
  int rings = 0;             ///< that were ever taken
  std::deque<int> returned;  ///< oldest first: others may still look at the last ones
};
Board& board = *new Board;  // never destroyed: MPI may be finalised by a destructor

/// Collective. Whether all could attach. Throws Failure.
bool share(shm::Medium medium, int first, const shm::Geometry& geometry, shm::Ticket* tickets) {
  const World& w = *world();
  shm::Ticket mine;
  std::string error;
  board.segment = first == w.rank ? shm::Segment::create(geometry, medium, mine, error) : nullptr;
  if (!board.segment) mine.pid = 0;
  check_raised(
      host.Allgather(&mine, sizeof mine, handles.byte, tickets, sizeof mine, handles.byte, handles.comm_world));
  if (first != w.rank && tickets[first].pid != 0) board.segment = shm::Segment::attach(tickets[first], error);
  int worked = board.segment != nullptr, all = 0;
  check_raised(host.Allreduce(&worked, &all, 1, handles.integer, handles.min, handles.comm_world));
  if (!all) return false;
  board.segment->everyone_attached();
  return true;
}

}  // namespace

bool make_board() {
  const World& w = *world();
  const auto here = [&](int r) { return w.all[r].machine == w.all[w.rank].machine; };
  int first = 0, ranks = 0;
  while (!here(first)) ++first;
  for (int r = 0; r < w.size; ++r) ranks += here(r);
  const shm::Geometry geometry{ranks, 1, sizeof(Area)};
  std::vector<shm::Ticket> tickets(w.size);
  if (!share(shm::Medium::nameless, first, geometry, tickets.data()) &&
      !share(shm::Medium::file, first, geometry, tickets.data()))
    return false;
  board.areas.resize(w.size);
  for (int r = 0, i = 0; r < w.size; ++r)
    if (here(r)) board.areas[r] = reinterpret_cast<Area*>(board.segment->layout().slot(i++, 0));
  own_memory = board.areas[w.rank];
  return true;
}

Area* area_of(int rank) { return board.areas[rank]; }

bool first_to_report(std::uint64_t what) {
  Area& first = **std::ranges::find_if(board.areas, [](const Area* area) { return area != nullptr; });
  return first.reported[what % std::size(first.reported)].exchange(what) != what;
}

int take_ring(std::uint64_t id) {
  const std::lock_guard lock(board.mutex);
  Area& area = own_area();
  int ring;
  if (board.rings < static_cast<int>(Area::max_rings)) {
    ++board.rings;
    ring = static_cast<int>(id % Area::max_rings);
    while (area.ids[ring].load(std::memory_order_relaxed) != 0) ring = (ring + 1) % static_cast<int>(Area::max_rings);
  } else {
    if (board.returned.empty()) {
      area.full.store(true, std::memory_order_relaxed);
      return -1;
    }
    ring = board.returned.front();
    board.returned.pop_front();
  }
  area.rings[ring].posted.store(0, std::memory_order_relaxed);
  area.rings[ring].given_up.store(false, std::memory_order_relaxed);
  for (Slot& slot : area.rings[ring].slots) slot.number.store(0, std::memory_order_relaxed);
  for (auto& word : area.digests[ring].words) word.store(0, std::memory_order_relaxed);
  area.ids[ring].store(id, std::memory_order_release);
  return ring;
}

void give_ring_back(int ring) {
  const std::lock_guard lock(board.mutex);
  board.returned.push_back(ring);
}

int find_ring(const Area& area, std::uint64_t id, int hint) {
  const auto has = [&](int ring) { return area.ids[ring].load(std::memory_order_acquire); };
  if (hint >= 0 && has(hint) == id) return hint;
  int ring = static_cast<int>(id % Area::max_rings);
  for (std::size_t tries = 0; tries < Area::max_rings; ++tries, ring = (ring + 1) % static_cast<int>(Area::max_rings)) {
    const std::uint64_t found = has(ring);
    if (found == id) return ring;
    if (found == 0) return -1;
  }
  return -1;
}

std::uint64_t digest(const Notice& notice) {
  std::uint64_t rest;
  static_assert(sizeof(Notice) == offsetof(Notice, root) + sizeof rest);
  std::memcpy(&rest, &notice.root, sizeof rest);
  return mixed(mixed(mixed(mixed(notice.bytes) + notice.hash) + notice.parts) + rest);
}

void post(Area& area, int ring, std::uint64_t number, const Notice& notice, std::uint64_t digest, bool fence) {
  constexpr std::uint64_t low = 0xFFFF;
  Ring& of = area.rings[ring];
  Slot& slot = of.slots[number % Ring::depth];
  slot.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // whoever reads any of what follows reads 0, or a new number
  std::memcpy(&slot.notice, &notice, sizeof notice);
  slot.number.store(number, std::memory_order_release);
  of.posted.store(number, std::memory_order_release);
  area.digests[ring].words[number % Digests::depth].store((digest & ~low) | (number & low), std::memory_order_release);
  if (fence) std::atomic_thread_fence(std::memory_order_seq_cst);
}

std::optional<Notice> read(const Area& area, int ring, std::uint64_t number) {
  const Slot& slot = area.rings[ring].slots[number % Ring::depth];
  if (slot.number.load(std::memory_order_acquire) != number) return std::nullopt;
  Notice notice;
  std::memcpy(&notice, &slot.notice, sizeof notice);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (slot.number.load(std::memory_order_relaxed) != number) return std::nullopt;
  return notice;
}

std::uint64_t put_parts(const std::vector<Part>& parts) {
  if (parts.size() > Area::arena_parts / 2) return Notice::no_parts;
  const std::lock_guard lock(board.mutex);
  Area& area = own_area();
  const std::uint64_t at = area.arena_end.load(std::memory_order_relaxed);
  area.arena_end.store(at + parts.size(), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // whoever reads what is written now sees that end
  for (std::size_t i = 0; i < parts.size(); ++i) area.arena[(at + i) % Area::arena_parts] = parts[i];
  return at;
}

bool read_parts(const Area& area, std::uint64_t at, std::size_t first, std::size_t count, Part* to) {
  if (at == Notice::no_parts) return false;
  for (std::size_t i = 0; i < count; ++i) to[i] = area.arena[(at + first + i) % Area::arena_parts];
  std::atomic_thread_fence(std::memory_order_acquire);
  return area.arena_end.load(std::memory_order_relaxed) - at <= Area::arena_parts;
}

std::int64_t coarse_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace omnes::interpose::check
