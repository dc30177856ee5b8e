// Memory of this process that the other ranks of the node can map, and so read and write in place.
//
// Overview. A heap is one nameless file, as long as it may ever get (pages cost nothing until they are touched), mapped once by its owner and
// once by each peer that has its ticket. Its owner hands out pieces of it in place of ordinary memory. A message that lies there needs no
// copy in between and no system call: the reader takes it from where it is (single_copy.cpp).
// Some go through all the memory that a process has mapped, and so would make every page of it: mlockall, core dumps, valgrind's search for
// leaks; and a program may limit its address space later. So each process maps the file only as far as it has needed it
// (GrowingMapping).
// Freed pieces keep their pages for the next one, up to a limit; what is above goes back to the system at once.
// Fork. The child of a fork must not share what its parent writes. Before fork() returns to either, the child replaces each piece by a
// private copy, read from the file while the parent waits; from then on its heap hands out nothing, and no peer knows it. Children that
// only go on to exec (vfork, posix_spawn) run no such handlers and need none; exec closes the file.
// Threads may call everything at any time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "transport/shm/heap/mapped_memory.hpp"
#include "transport/shm/heap/mappings.hpp"

namespace omnes::shm {

/// What a peer needs to map a heap. Plain bytes: may be sent as it is; all zero where there is none.
struct HeapTicket {
  std::int64_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t address = 0;  ///< of the heap, in its owner
  std::uint64_t bytes = 0;
  std::uint64_t nonce = 0;  ///< stands at the start of the file: proves that the right thing was found
};

/// A file that is mapped up to the furthest byte that was needed. Its addresses behind that are not reserved, but others
/// come there last.
class GrowingMapping {
 public:
  /// Of a file of so many bytes, the first of which are there afterwards; where not, base() is null.
  GrowingMapping(int fd, std::size_t bytes);
  ~GrowingMapping();
  GrowingMapping(const GrowingMapping&) = delete;
  GrowingMapping& operator=(const GrowingMapping&) = delete;

  std::byte* base() const { return base_; }
  /// How far it is mapped.
  std::size_t end() const { return end_.load(std::memory_order_acquire); }
  /// So that the bytes before `end` are there. False: that is not possible, or not in address space that the program has
  /// limited. Threads may call it at any time.
  bool reach(std::size_t end) { return end <= this->end() || grow(end); }

 private:
  bool grow(std::size_t end);
  const std::size_t bytes_;
  std::byte* base_;
  std::mutex mutex_;
  std::atomic<std::size_t> end_;  // release by who has mapped more; pairs with the acquire of who accesses it
};

/// A heap of this process.
class Heap {
 public:
  /// It may get as long as `max_bytes`. Null, with one line in `error`, where none can be had.
  static std::unique_ptr<Heap> make(std::size_t max_bytes, std::string& error);
  /// What suits this machine as `max_bytes`; 0 where address space or the length of files is limited (ulimit -v, -f),
  /// or all that is allocated must be there (vm.overcommit_memory=2).
  static std::size_t usual_bytes();
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// `bytes` (more than 0) at a multiple of `alignment` (a power of two), zeroed where asked for; null when there is no room.
  void* take(std::size_t bytes, std::size_t alignment = 1, bool zeroed = false);
  /// What take() returned. Its pages stay for the next one, up to a limit, or go back to the system at once.
  void give_back(void* piece, bool keep_pages = true);
  /// Gives the system the memory of some pages of a piece, which stays taken. Takes no lock.
  void release(void* pages, std::size_t bytes);
  /// In all pieces that are taken.
  std::size_t used_bytes() const;
  /// The bytes that may be used of what take() returned: at least as many as asked for.
  std::size_t room(const void* piece) const;
  bool holds(const void* address) const { return reinterpret_cast<std::uintptr_t>(address) - base_ < mapping_.end(); }

  /// All zero in a child of a fork.
  HeapTicket ticket() const;

  // Pieces that also lie elsewhere in this process (adoption.hpp). All of it whole pages.
  /// As memory is written, but its pages then count for this process only where they are mapped also, and the system may
  /// refuse them. False: only some, perhaps, were written.
  bool write(void* piece, const void* data, std::size_t bytes);
  /// Maps what lies at `piece` at `address`, too, in place of what is mapped there. False: nothing has changed.
  bool map_also(void* address, const void* piece, std::size_t bytes);
  /// Whether all of that is still mapped there.
  bool is_mapped(const Mappings& mappings, const void* address, const void* piece, std::size_t bytes) const;
  /// Where the first byte of a mapping elsewhere lies in the heap; null: it is of something else.
  std::byte* behind(const Mapping& mapping) const;
  /// Calls `see` for each mapping elsewhere that has some of these addresses; it may put something else in its place.
  template <class See>
  void for_each_elsewhere(const Mappings& mappings, std::uintptr_t begin, std::uintptr_t end, See see) const {
    for (auto found = mappings.of_file_from(begin); found && found->begin < end;
         found = mappings.of_file_from(found->end))
      if (behind(*found) != nullptr) see(*found);
  }
  /// How many there were. Each has copied all that is used.
  unsigned forks() const { return forks_.load(std::memory_order_relaxed); }
  /// Not in a child of a fork.
  bool any_mapped_also() const { return any_mapped_also_.load(std::memory_order_relaxed); }

 private:
  Heap(int fd, std::size_t bytes);
  struct Piece {
    std::size_t offset, bytes;
  };
  /// Free pieces, none of which touch.
  class Pieces {
   public:
    void add(Piece piece);
    /// The smallest that has room for `bytes` at that alignment, without it; 0 bytes where there is none.
    Piece cut(std::size_t bytes, std::size_t alignment, std::uintptr_t base);

   private:
    void put(Piece piece);
    void drop(std::map<std::size_t, std::size_t>::iterator piece);
    std::map<std::size_t, std::size_t> by_offset_;
    std::set<std::pair<std::size_t, std::size_t>> by_bytes_;
  };

  void after_fork(bool child);
  void become_private();
  void copy_privately(std::uintptr_t address, std::size_t bytes, std::size_t offset, int protection) const;
  bool read(std::byte* into, std::size_t bytes, std::size_t offset) const;
  /// A program may have closed what it did not open, and opened a file of its own under that number.
  bool has_its_file() const;
  bool punch_hole(std::size_t offset, std::size_t bytes) const;
  bool is_own(const Mapping& mapping) const { return mapping.is_of_file(inode_, device_); }

  const std::size_t bytes_;
  int fd_;
  GrowingMapping mapping_;
  const std::uintptr_t base_;
  std::uint64_t inode_ = 0, device_ = 0;  // of its file
  const std::uint64_t nonce_;
  mutable std::mutex mutex_;
  Pieces clean_, dirty_;  // never touched or given back to the system, so zero; used before, with their pages
  std::map<std::size_t, std::size_t> used_;  // offset -> bytes
  std::size_t dirty_bytes_ = 0;
  std::atomic<bool> any_mapped_also_{false};
  std::atomic<unsigned> forks_{0};

  friend struct ForkHandlers;
};

// Around what forks without calling handlers, as _Fork does.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

/// A peer's heap, mapped here.
class PeerHeap {
 public:
  /// Null where it cannot be had.
  static std::shared_ptr<PeerHeap> map(const HeapTicket& ticket);
  PeerHeap(const PeerHeap&) = delete;
  PeerHeap& operator=(const PeerHeap&) = delete;

  /// Where what lies at `address` of its owner's heap lies here; null unless all of it can be in a heap, and mapped.
  std::byte* here(std::uint64_t address, std::size_t bytes) const {
    const MappedMemory all{ticket_.address, ticket_.bytes, mapping_.base()};
    std::byte* const found = all.here(address, bytes);
    return found != nullptr && mapping_.reach(address - ticket_.address + bytes) ? found : nullptr;
  }
  /// The same where no more can be mapped: copies it. False: that is not possible either.
  bool read(std::uint64_t address, void* into, std::size_t bytes) const;

 private:
  PeerHeap(const HeapTicket& ticket, int fd) : ticket_(ticket), mapping_(fd, ticket.bytes) {}
  const HeapTicket ticket_;
  mutable GrowingMapping mapping_;
};

}  // namespace omnes::shm
