// A piece of memory that the ranks of one node share and that leaves nothing behind, however they end.
//
// How: the first rank creates it, hands the others a Ticket (plain bytes, by whatever means it has), and each attaches:
//     auto segment = Segment::create(geometry, Medium::nameless, ticket, error);   // first rank
//     auto segment = Segment::attach(ticket, error);                               // the others
//     ... wait until everyone has attached, or failed ...
//     segment->everyone_attached();                                                // every rank
// A nameless segment is an anonymous file that others open through /proc/<pid>/fd/<fd>. Where that is refused (to any
// rank: they must agree) start again with Medium::file, a file in /dev/shm that everyone_attached() removes. Who makes many
// takes Medium::pool: they are nameless, too, and the memory may be mapped already (pool.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/assert.hpp"
#include "transport/shm/geometry.hpp"
#include "transport/shm/layout.hpp"

namespace omnes::shm {

enum class Medium : std::int32_t { nameless, file, pool };

/// What a rank needs to attach. Plain bytes: may be sent as it is.
struct Ticket {
  Geometry geometry;
  Medium medium = Medium::nameless;
  std::int32_t fd = -1;
  std::int64_t pid = 0;
  std::uint64_t nonce = 0;  ///< stands at the start of the segment: proves that the right thing was found
};

class Segment {
 public:
  /// Null on failure, with one line in `error`.
  static std::shared_ptr<Segment> create(const Geometry& geometry, Medium medium, Ticket& ticket, std::string& error);
  static std::shared_ptr<Segment> attach(const Ticket& ticket, std::string& error);
  /// Whether the limit on the size of files (`ulimit -f`) lets this process make one.
  static bool may_be_made(std::size_t bytes);
  /// Whether /dev/shm has room for so many bytes now.
  static bool has_room(std::size_t bytes);
  /// For the threads of one process, or the children that it forks.
  static std::shared_ptr<Segment> in_process(const Geometry& geometry, std::string& error);

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// From here on nobody can attach, and nothing but the mappings holds the memory.
  void everyone_attached();
  /// Whether that is still to be said, by its maker.
  bool waits_for_all() const { return fd_ >= 0 || !name_.empty(); }

  const Geometry& geometry() const { return geometry_; }
  std::size_t bytes() const { return bytes_; }  ///< in all
  /// Of all that this process has now.
  static std::uint64_t bytes_of_all() { return all_bytes_.load(std::memory_order_relaxed); }
  const Layout& layout() const { return layout_; }  ///< of the first lane
  std::byte* base(int lane = 0) const {
    OMNES_ASSERT(lane >= 0 && lane < geometry_.all_lanes());
    return base_ + geometry_.offset_of_lane(lane);
  }

 private:
  friend class Pool;
  Segment(const Geometry& geometry, std::byte* base, bool pooled = false)
      : geometry_(geometry), bytes_(geometry.total_bytes()), base_(base), pooled_(pooled), layout_(geometry, base) {
    all_bytes_.fetch_add(bytes_, std::memory_order_relaxed);
  }
  static std::shared_ptr<Segment> map(const Geometry& geometry, int fd, std::string& error);

  static inline std::atomic<std::uint64_t> all_bytes_{0};
  Geometry geometry_;
  std::size_t bytes_;
  std::byte* base_;
  bool pooled_;
  Layout layout_;
  int fd_ = -1;       // the creator's, nameless: open until everyone has attached
  std::string name_;  // the creator's, file: to be removed
};

}  // namespace omnes::shm
