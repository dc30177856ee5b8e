// Chunks, and what is cut out of them.
#include "transport/shm/pool.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/assert.hpp"
#include "transport/shm/layout.hpp"
#include "transport/shm/nonce.hpp"
#include "transport/shm/system_memory.hpp"

namespace omnes::shm {

namespace {

constexpr std::size_t first_chunk = std::size_t{64} << 20, largest_chunk = std::size_t{1} << 30;  // bytes
constexpr std::size_t segments_in_a_chunk = 8;                                                    // at least

}  // namespace

Pool& Pool::own() {
  static Pool* const pool = new Pool;
  return *pool;
}

std::shared_ptr<Segment> Pool::segment_in(const Chunk& chunk, std::size_t offset, const Geometry& geometry) {
  OMNES_ASSERT(offset % page_bytes == 0 && offset + geometry.total_bytes() <= chunk.bytes);
  return std::shared_ptr<Segment>(new Segment(geometry, chunk.base + offset, true));
}

bool Pool::map(Chunk& chunk, std::string& error) const {
  void* const base = mmap(nullptr, chunk.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, chunk.fd, 0);
  if (base == MAP_FAILED) {
    error = std::string("cannot map memory for shared segments: ") + std::strerror(errno);
    return false;
  }
  put_into_core_dumps(base, chunk.bytes, false);
  chunk.base = static_cast<std::byte*>(base);
  return true;
}

/// `least`: bytes of the segment that it is for. Limits may allow no more.
bool Pool::add_chunk(std::size_t least, std::string& error) {
  const std::size_t wanted = made_.empty() ? first_chunk : std::min(2 * made_.back().bytes, largest_chunk);
  for (const std::size_t bytes : {std::max(wanted, segments_in_a_chunk * least + page_bytes), least + page_bytes}) {
    Chunk chunk{.bytes = bytes, .pid = getpid(), .used = page_bytes};
    if (!Segment::may_be_made(bytes)) {
      error = std::string("cannot size memory for shared segments: ") + std::strerror(EFBIG);
      continue;
    }
    chunk.fd = memfd_create("omnes", MFD_CLOEXEC);
    if (chunk.fd < 0 || ftruncate(chunk.fd, static_cast<off_t>(bytes)) != 0)
      error = std::string("cannot create memory for shared segments: ") + std::strerror(errno);
    else if (map(chunk, error)) {
      *reinterpret_cast<std::uint64_t*>(chunk.base) = new_nonce();
      made_.push_back(chunk);
      return true;
    }
    if (chunk.fd >= 0) close(chunk.fd);
  }
  return false;
}

/// Whether the part, which all its ranks have left, is as new again.
bool Pool::take_back(Part& part) {
  const Chunk& chunk = made_[part.chunk];
  const Layout layout(part.geometry, chunk.base + part.offset);
  const std::uint32_t left = std::atomic_ref(layout.identity(0)->left).load(std::memory_order_acquire);
  return left == static_cast<std::uint32_t>(part.geometry.p) &&
         madvise(chunk.base + part.offset, part.geometry.total_bytes(), MADV_REMOVE) == 0;
}

std::shared_ptr<Segment> Pool::cut(const Geometry& geometry, Ticket& ticket, std::string& error) {
  error = geometry.why_not();
  if (!error.empty()) return nullptr;
  const std::size_t bytes = geometry.total_bytes();
  const std::lock_guard lock(mutex_);
  const auto has_room = [&] { return !made_.empty() && made_.back().bytes - made_.back().used >= bytes; };
  std::size_t offset = 0, index = 0;
  if (!has_room()) {
    const auto again = std::ranges::find_if(
        parts_, [&](Part& part) { return part.geometry.total_bytes() == bytes && take_back(part); });
    if (again != parts_.end()) {
      again->geometry = geometry;
      offset = again->offset;
      index = again->chunk;
    } else if (!add_chunk(bytes, error)) {
      return nullptr;
    }
  }
  if (offset == 0) {
    index = made_.size() - 1;
    offset = made_[index].used;
    made_[index].used += bytes;
    parts_.push_back({index, offset, geometry});
  }
  const Chunk& chunk = made_[index];
  ticket = {geometry, Medium::pool, chunk.fd, chunk.pid, chunk.nonce() + offset / page_bytes};
  std::shared_ptr<Segment> segment = segment_in(chunk, offset, geometry);
  std::atomic_ref(segment->layout().identity(0)->segment_nonce).store(ticket.nonce, std::memory_order_relaxed);
  return segment;
}

const Pool::Chunk* Pool::chunk_of(const Ticket& ticket, std::string& error) {
  const auto of_ticket = [&](const Chunk& chunk) {
    return chunk.pid == ticket.pid && chunk.fd == ticket.fd &&
           (ticket.nonce - chunk.nonce()) * page_bytes < chunk.bytes;
  };
  if (const auto known = std::ranges::find_if(found_, of_ticket); known != found_.end()) return &*known;
  const std::string name = "/proc/" + std::to_string(ticket.pid) + "/fd/" + std::to_string(ticket.fd);
  Chunk chunk{.fd = open(name.c_str(), O_RDWR | O_CLOEXEC), .pid = ticket.pid};
  struct stat status{};
  bool mapped = false;
  if (chunk.fd < 0 || fstat(chunk.fd, &status) != 0) {
    error = std::string("cannot open a peer's memory for shared segments: ") + std::strerror(errno);
  } else {
    chunk.bytes = static_cast<std::size_t>(status.st_size);
    mapped = chunk.bytes >= page_bytes && map(chunk, error);
  }
  if (chunk.fd >= 0) close(chunk.fd);
  chunk.fd = ticket.fd;  // by which it is known
  // In another process namespace the same numbers may name something else.
  if (mapped && !of_ticket(chunk)) {
    munmap(chunk.base, chunk.bytes);
    mapped = false;
  }
  if (mapped) return &found_.emplace_back(chunk);
  if (error.empty()) error = "what the peer's ticket names is not its memory for shared segments";
  return nullptr;
}

std::shared_ptr<Segment> Pool::find(const Ticket& ticket, std::string& error) {
  error = ticket.geometry.why_not();
  if (!error.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const Chunk* const chunk = chunk_of(ticket, error);
  if (chunk == nullptr) return nullptr;
  const std::size_t offset = (ticket.nonce - chunk->nonce()) * page_bytes;
  const Layout layout(ticket.geometry, chunk->base + offset);
  if (ticket.geometry.total_bytes() <= chunk->bytes - offset && layout.identity(0)->segment_nonce == ticket.nonce)
    return segment_in(*chunk, offset, ticket.geometry);
  error = "what the peer's ticket names is not its shared segment";
  return nullptr;
}

}  // namespace omnes::shm
