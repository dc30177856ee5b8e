// Making, finding and releasing segments.
#include "transport/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "transport/shm/layout.hpp"
#include "transport/shm/nonce.hpp"
#include "transport/shm/pool.hpp"
#include "transport/shm/system_memory.hpp"

namespace omnes::shm {

namespace {

std::string failed(const char* what, int error) { return std::string(what) + ": " + std::strerror(error); }

std::string file_name(const Ticket& ticket) {
  return "/dev/shm/omnes-" + std::to_string(ticket.pid) + "-" + std::to_string(ticket.nonce);
}

/// By `ulimit -f`.
bool allowed(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

/// Returns the errno, or 0.
int size(int fd, Medium medium, std::size_t bytes) {
  if (!allowed(bytes)) return EFBIG;  // the process would be killed
  const auto length = static_cast<off_t>(bytes);
  if (medium == Medium::nameless) return ftruncate(fd, length) == 0 ? 0 : errno;
  // /dev/shm may be small: ask for the memory now rather than be killed on touching it.
  int refused;
  do refused = posix_fallocate(fd, 0, length);
  while (refused == EINTR);
  return refused;
}

}  // namespace

std::size_t Geometry::pair_lines() const {
  const std::size_t lines = static_cast<std::size_t>(slots) * page_bytes / line_bytes;  // in the least control space
  const std::size_t taken = Layout::lines_beside_pairs(*this);
  const std::size_t fit = lines > taken ? std::bit_floor((lines - taken) / static_cast<std::size_t>(p)) : 0;
  return std::max(std::bit_ceil(static_cast<std::size_t>(slots)), std::min(fit, max_pair_lines));
}

std::size_t Geometry::control_bytes() const {
  const std::size_t needed = Layout::control_lines(*this) * line_bytes;
  const std::size_t unit = static_cast<std::size_t>(slots) * page_bytes;
  return (needed + unit - 1) / unit * page_bytes;
}

Geometry Geometry::of_lane(int lane) const {
  // Enough for ranks that send to all and start the next call before their slowest reader has come.
  constexpr int least = 8, for_each_reader = 2;
  constexpr std::size_t short_slot = 8 * 1024;
  Geometry own = *this;
  own.lanes = 1;
  own.short_lanes = 0;
  if (lane < lanes) return own;
  own.slots = std::min(slots, std::max(least, for_each_reader * p));
  own.slot_bytes = std::min(slot_bytes, short_slot);
  return own;
}

std::size_t Geometry::offset_of_lane(int lane) const {
  const int before = std::min(lane, lanes);
  return static_cast<std::size_t>(before) * lane_bytes() +
         static_cast<std::size_t>(lane - before) * of_lane(lanes).lane_bytes();
}

std::size_t Geometry::total_bytes() const {
  return (offset_of_lane(all_lanes()) + page_bytes - 1) / page_bytes * page_bytes;
}

std::string Geometry::why_not() const {
  if (p < 1) return "a segment is for 1 or more ranks, not " + std::to_string(p);
  if (lanes < 1 || lanes > 1024) return "lanes must be 1 to 1024, not " + std::to_string(lanes);
  if (short_lanes < 0 || short_lanes > 1024) return "short lanes must be 0 to 1024, not " + std::to_string(short_lanes);
  if (slots < 1 || slots > 1024) return "slots must be 1 to 1024, not " + std::to_string(slots);
  if (slot_bytes < line_bytes || slot_bytes > max_slot_bytes || slot_bytes % line_bytes != 0)
    return "slot bytes must be a multiple of 64 from 64 to 256M, not " + std::to_string(slot_bytes);
  return {};
}

std::shared_ptr<Segment> Segment::map(const Geometry& geometry, int fd, std::string& error) {
  const int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* base = mmap(nullptr, geometry.total_bytes(), PROT_READ | PROT_WRITE, flags, fd, 0);
  if (base == MAP_FAILED) {
    error = failed("cannot map a shared segment", errno);
    return nullptr;
  }
  put_into_core_dumps(base, geometry.total_bytes(), false);
  return std::shared_ptr<Segment>(new Segment(geometry, static_cast<std::byte*>(base)));
}

bool Segment::may_be_made(std::size_t bytes) { return allowed(bytes); }

bool Segment::has_room(std::size_t bytes) {
  struct statvfs space{};
  if (statvfs("/dev/shm", &space) != 0) return false;
  const bool unlimited = space.f_blocks == 0;
  return unlimited || bytes / space.f_frsize < space.f_bavail;
}

std::shared_ptr<Segment> Segment::in_process(const Geometry& geometry, std::string& error) {
  error = geometry.why_not();
  return error.empty() ? map(geometry, -1, error) : nullptr;
}

std::shared_ptr<Segment> Segment::create(const Geometry& geometry, Medium medium, Ticket& ticket, std::string& error) {
  if (medium == Medium::pool) return Pool::own().cut(geometry, ticket, error);
  error = geometry.why_not();
  if (!error.empty()) return nullptr;
  ticket = Ticket{geometry, medium, -1, getpid(), new_nonce()};
  const std::string name = file_name(ticket);
  const int fd = medium == Medium::nameless ? memfd_create("omnes", MFD_CLOEXEC)
                                            : open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    error = failed("cannot create a shared segment", errno);
    return nullptr;
  }
  std::shared_ptr<Segment> segment;
  if (const int refused = size(fd, medium, geometry.total_bytes()); refused != 0) {
    error = failed("cannot size a shared segment", refused);
  } else {
    segment = map(geometry, fd, error);
  }
  if (segment) {
    segment->layout_.identity(0)->segment_nonce = ticket.nonce;
    if (medium == Medium::nameless) {
      segment->fd_ = ticket.fd = fd;
      return segment;
    }
    segment->name_ = name;
  } else if (medium == Medium::file) {
    unlink(name.c_str());
  }
  close(fd);
  return segment;
}

std::shared_ptr<Segment> Segment::attach(const Ticket& ticket, std::string& error) {
  if (ticket.medium == Medium::pool) return Pool::own().find(ticket, error);
  error = ticket.geometry.why_not();
  if (!error.empty()) return nullptr;
  const std::string name = ticket.medium == Medium::file
                               ? file_name(ticket)
                               : "/proc/" + std::to_string(ticket.pid) + "/fd/" + std::to_string(ticket.fd);
  const int fd = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    error = failed("cannot open a peer's shared segment", errno);
    return nullptr;
  }
  std::shared_ptr<Segment> segment;
  struct stat status{};
  if (fstat(fd, &status) == 0 && static_cast<std::size_t>(status.st_size) == ticket.geometry.total_bytes())
    segment = map(ticket.geometry, fd, error);
  close(fd);
  // In another process namespace the same numbers may name something else.
  if (segment && segment->layout_.identity(0)->segment_nonce != ticket.nonce) segment.reset();
  if (!segment && error.empty()) error = "what the peer's ticket names is not its shared segment";
  return segment;
}

void Segment::everyone_attached() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (!name_.empty()) unlink(name_.c_str());
  name_.clear();
}

Segment::~Segment() {
  everyone_attached();
  all_bytes_.fetch_sub(bytes_, std::memory_order_relaxed);
  if (pooled_)
    std::atomic_ref(layout_.identity(0)->left).fetch_add(1, std::memory_order_acq_rel);
  else
    munmap(base_, bytes_);
}

}  // namespace omnes::shm
