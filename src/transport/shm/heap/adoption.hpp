// Buffers of the program that come back again and again, and whose pages then lie in this process's heap: at the addresses
// that they had, so the program sees no difference, and peers read and write them in place.
//
// How: while a rank is in a collective, the pages that lie wholly inside its buffer belong to the call: of what it sends
// nobody may write, of what it receives nobody may read or write. They are copied into a piece of the heap, which is then
// mapped in their place. The bytes before the first and behind the last whole page stay where they are: the piece has a
// page more at either end, to which who sends copies them for each message, and from which who receives takes them.
//
// When: as soon as three times as much time was spent on a buffer as adopting it takes; twice as much after each time that it
// did not pay. What it costs, what a copy less saves, and what it takes to ask the kernel is measured.
//
// Why it is correct:
// * Peers know nothing of it: they are told addresses in the heap, which they have mapped. Each rank decides alone.
// * A program may unmap or move its memory at any time and have something else there later. So before each call the kernel
//   is asked whether the pages are still mapped there. Where it cannot be asked cheaply (before Linux 6.11), nothing is
//   adopted. During the call the program must leave them alone, as MPI says.
// * A piece is not used for something else while it is mapped anywhere, or while a call uses it.
// * What is in no call nobody touches: threads of the program may write there or unmap it, and the kernel or a device may be moving data. So
//   what is to make room for others does so when a call has it next.
// * Only private memory of no file is adopted that can be read and written and was not made of huge pages, or put near
//   another CPU, or where mbind said; no stacks; and nothing in a process that has locked or pinned memory, or mapped a device, whose driver might
//   know the old pages, or has a userfaultfd.
// * What means something else on shared memory: a fork (heap.hpp), which costs a copy of all: where forks cost more than is
//   saved, buffers become private again; and madvise and mremap, which the library sees first, and gives such pages back to
//   the program: before_discard(), before_move(). Where it does not see them, as UCX may have overwritten the code of these
//   functions, or where the program has made memory special in ways that the kernel does not say, nothing more is adopted.
// Threads may call everything at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "transport/shm/heap/heap.hpp"
#include "transport/shm/heap/mappings.hpp"
#include "transport/shm/system_memory.hpp"

namespace omnes::shm {

/// Pages of the program that lie in the heap.
class Adopted {
 public:
  Adopted(std::byte* buffer, std::byte* first, std::size_t bytes, std::byte* piece, unsigned forks, std::uint64_t now)
      : buffer_(buffer),
        first_(first),
        bytes_(bytes),
        piece_(piece),
        piece_bytes_(bytes + 2 * page()),
        forks_(forks),
        used_at_(now) {}

  /// Where that lies in the heap, perhaps except for bytes in the page before and in the page behind; else null.
  std::byte* in_heap(const std::byte* data, std::size_t bytes) const;
  /// Brings these bytes there, or from there. Nothing where it has all.
  void bring_ends(const std::byte* data, std::size_t bytes) const;
  void take_ends(std::byte* data, std::size_t bytes) const;

 private:
  friend class Adoption;
  template <class Copy>
  void for_ends(std::byte* data, std::size_t bytes, Copy copy) const;
  std::byte* pages_in_heap() const;

  std::byte* const buffer_;  // in which they lie
  std::byte* first_;
  std::size_t bytes_;
  std::byte* const piece_;  // in the heap: a page or more, the pages, a page or more
  const std::size_t piece_bytes_;
  std::size_t before_ = 0;  // bytes there, and a page, before the first
  int users_ = 0;
  bool makes_room_ = false;  // for others, when a call has it next
  double saved_ = 0;         // ns
  unsigned forks_;           // of the process, when it was last used
  std::uint64_t used_at_;    // of Adoption::uses_
};

/// What was adopted so far, what it has cost, and what it was good for.
struct AdoptionTally {
  std::uint64_t buffers = 0, bytes = 0;  ///< adopted, each time anew
  std::uint64_t refused = 0;             ///< times that a buffer would have paid, but could not be adopted
  std::uint64_t uses = 0;                ///< calls that found theirs adopted
  double spent = 0;                      ///< ns of threads: prices measured, pages looked at and moved
  double saved = 0;                      ///< ns: copies that were not made, by the price of one, less that of asking
};

/// Who adopts, for one heap.
class Adoption {
 public:
  /// Whether calls of before_discard() and before_move() can be relied on now.
  using IsTold = bool (*)();
  /// Null where the kernel does not answer. The heap outlives it.
  static std::unique_ptr<Adoption> make(Heap& heap, IsTold is_told);
  /// Gives all back.
  ~Adoption();
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;

  /// At the begin of a call that is about to send or receive long messages from or into all of that buffer: what of it lies
  /// in the heap, perhaps from now on; null: nothing. Until done().
  Adopted* use(std::byte* buffer, std::size_t bytes);
  void done(Adopted* adopted);
  // Before pages of the program change in a way that those of the heap do not: they become its own again. From anywhere.
  /// What they hold is to be lost.
  void before_discard(void* address, std::size_t bytes);
  /// They are to lie elsewhere, or to be more.
  void before_move(void* address, std::size_t bytes);

  std::size_t adopted_bytes() const;
  AdoptionTally tally() const;

  /// Shorter buffers never are: to ask the kernel before each call takes as long as is saved. Policy::adopt_from() may say more.
  static constexpr std::size_t min_bytes = std::size_t{32} << 10;

 private:
  using ByAddress = std::map<std::byte*, std::unique_ptr<Adopted>>;
  struct Candidate {
    std::byte* buffer = nullptr;
    std::size_t bytes = 0;
    std::uint32_t times = 0;   // that it came in about that length
    double spent = 0;          // ns that would have been saved
    std::uint32_t losses = 0;  // so often in a row it could not be adopted, or that did not pay
    std::uint64_t since = 0;   // of uses_
  };
  using CandidateSet = std::array<Candidate, 4>;  // programs take few buffers by turns, but any may fall on one place

  Adoption(Heap& heap, IsTold is_told);
  ByAddress::iterator find(std::byte* first, std::byte* end);
  bool is_whole(const Adopted& adopted) const;
  /// A call has all of its pages, or somebody else has changed what is mapped there.
  bool give_back(ByAddress::iterator at);
  void give_up(std::byte* piece, std::size_t bytes);
  void look_at_given_up();
  /// Only those of its pages that lie between these; some do not.
  bool give_back_part(ByAddress::iterator at, std::byte* first, std::byte* end);
  bool pays(Adopted& adopted) const;
  /// ns in a call.
  double saving(std::size_t bytes) const;
  void look_at_another();
  void look_at_all();
  CandidateSet& set_of(const std::byte* buffer);
  /// Its own, or the one in whose place it would come.
  Candidate& candidate(const std::byte* buffer);
  bool wanted(std::byte* buffer, std::size_t bytes);
  Adopted* adopt(std::byte* buffer, std::size_t bytes);
  bool has_room(std::size_t bytes, std::uint64_t since);
  /// What is left there of adopted ones becomes the program's. Then: whether its pages may be adopted.
  bool clear_for_adoption(std::byte* first, std::byte* end);
  void measure();

  Heap& heap_;
  const IsTold is_told_;
  const std::size_t max_bytes_;  // adopted at a time
  const Mappings mappings_;
  mutable std::mutex mutex_;
  ByAddress adopted_;  // by their first page; they do not overlap
  std::size_t adopted_bytes_ = 0;
  std::vector<std::pair<std::byte*, std::byte*>> given_up_;  // pieces, of which the program may still have parts
  AdoptionTally tally_;
  std::array<CandidateSet, 16> candidates_{};
  std::size_t came_back_ = 0;          // bytes, before prices are known
  double adopting_ = 0, copying_ = 0;  // ns for a byte
  double asking_ = 0;                  // ns, each time that an adopted one is used, whether it is still there
  double looking_;                     // ns before one is adopted, to see whether it may be, and to make room
  std::byte* looked_at_ = nullptr;     // last
  std::uint64_t uses_ = 0;             // calls with a long buffer
  std::size_t given_back_ = 0;         // times that pages became private
};

}  // namespace omnes::shm
