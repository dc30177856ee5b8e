// Notices by which a rank tells others of its node, once each, something about a thing that all of them know by a number:
// where the segment of a new communicator is.
//
// How: the owner writes a notice to one of the few places that follow from the number; each reader looks at them until
// it is there, and says so when it has read it. A notice that all have read is free. Nobody waits for anybody.
// Why it is correct: a notice's words are written before its number (release) and read after it (acquire), and not
// written again before all readers have counted themselves out (release, in one chain of read-modify-writes) and the
// owner has seen that (acquire). A number is used once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/shm/layout.hpp"
#include "transport/shm/segment.hpp"

namespace omnes::shm {

class Bulletin {
 public:
  /// So many bytes: room for some 2000 notices that somebody has not read yet. Only pages that are used count.
  static constexpr std::size_t bytes = std::size_t{128} * 1024;

  /// `memory`: shared, and zero at first.
  explicit Bulletin(std::byte* memory) : lines_(memory) {}

  /// By the owner, one thread at a time. False: there is no room for a notice of this number as yet.
  bool has_room(std::uint64_t number) const { return place_for(number) != nullptr; }
  void put(std::uint64_t number, const Ticket& ticket, int readers);
  /// By each reader. None: not there yet.
  std::optional<Ticket> take(std::uint64_t number);

 private:
  struct alignas(line_bytes) Notice {
    std::atomic<std::uint64_t> number;
    Ticket ticket;
    std::atomic<std::uint32_t> unread;  ///< readers that have not taken it
  };
  static_assert(sizeof(Notice) == line_bytes);

  // Where a number's notices may stand: first in the near part, a single page with the head, which stays warm.
  static constexpr std::size_t near = page_bytes / line_bytes - 1, near_tries = 4;
  static constexpr std::size_t far = bytes / line_bytes - near - 1, far_tries = 32;

  /// Whether any notice was ever put into the far part.
  std::atomic<std::uint32_t>& far_is_used() const { return *reinterpret_cast<std::atomic<std::uint32_t>*>(lines_); }
  Notice* near_place(std::uint64_t number, std::size_t i) const { return notice(1 + (number + i) % near); }
  Notice* far_place(std::uint64_t number, std::size_t i) const { return notice(1 + near + (number + i) % far); }
  Notice* notice(std::size_t line) const { return reinterpret_cast<Notice*>(lines_ + line * line_bytes); }
  Notice* place_for(std::uint64_t number) const;

  std::byte* lines_;
};

}  // namespace omnes::shm
