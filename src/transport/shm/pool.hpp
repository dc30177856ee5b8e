// Memory for many segments, one behind the other: to make or to find one more takes no system call.
//
// How. A rank cuts the segments that it makes out of chunks, nameless files; a ticket says where. Another rank maps a chunk
// as a whole when it first needs a part of it. Who has done with a segment counts itself out; when all its ranks have, and
// the chunks are full, its maker gives the memory back to the system, so that it is zero again, and cuts it anew.
// Cost: address space for the segments that were in use at once, twice at most; memory only for pages that are touched.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/shm/segment.hpp"

namespace omnes::shm {

class Pool {
 public:
  /// The process's; never destroyed, as segments may outlive main().
  static Pool& own();

  /// A new segment. Null where there is no memory, with one line in `error`.
  std::shared_ptr<Segment> cut(const Geometry& geometry, Ticket& ticket, std::string& error);
  /// What another process has cut. Null where it cannot be reached, with one line in `error`.
  std::shared_ptr<Segment> find(const Ticket& ticket, std::string& error);

 private:
  struct Chunk {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    int fd = -1;           ///< its maker's, open for those who have not found it yet
    std::int64_t pid = 0;  ///< its maker
    std::size_t used = 0;  ///< bytes; the maker's to know
    /// Stands at the start. A segment's is higher by the pages before it.
    std::uint64_t nonce() const { return *reinterpret_cast<const std::uint64_t*>(base); }
  };
  struct Part {
    std::size_t chunk;   ///< index
    std::size_t offset;  ///< bytes
    Geometry geometry;
  };

  bool add_chunk(std::size_t least, std::string& error);
  bool map(Chunk& chunk, std::string& error) const;
  const Chunk* chunk_of(const Ticket& ticket, std::string& error);
  bool take_back(Part& part);
  static std::shared_ptr<Segment> segment_in(const Chunk& chunk, std::size_t offset, const Geometry& geometry);

  std::mutex mutex_;
  std::vector<Chunk> made_, found_;
  std::vector<Part> parts_;  // of chunks made here
};

}  // namespace omnes::shm
