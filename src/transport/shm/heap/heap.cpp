// Handing out pages of a shared file, mapping those of peers, and leaving them behind in a fork.
#include "transport/shm/heap/heap.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/assert.hpp"
#include "transport/shm/nonce.hpp"
#include "transport/shm/system_memory.hpp"

namespace omnes::shm {

namespace {

// Bytes of freed pieces that keep their pages: what a program frees and allocates again in its loop, not what it frees for good.
constexpr std::size_t max_dirty_bytes = std::size_t{256} << 20;

// Room for 128 ranks to map each other's heaps in half of the addresses that x86-64 has.
constexpr std::size_t max_usual_bytes = std::size_t{256} << 30;

// To map more takes 2 us, and to touch so much for the first time some 250 us. A multiple of all sizes of pages, and of the huge ones of
// x86-64.
constexpr std::size_t mapped_at_once = std::size_t{4} << 20;

// Those of this process. Never destroyed: a handler may come late.
struct Alive {
  std::mutex mutex;
  std::vector<Heap*> heaps;
};
Alive& alive() {
  static Alive* const all = new Alive;
  return *all;
}

constexpr int plain = PROT_READ | PROT_WRITE;

bool is_limited(__rlimit_resource what) {
  rlimit limit{};
  return getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// By vm.overcommit_memory=2: a page of a file that cannot be had when it is touched is a signal, and no allocation that fails.
bool memory_is_counted() {
  char mode = '0';
  const int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);  // no stream, which would allocate
  const bool known = fd >= 0 && read(fd, &mode, 1) == 1;
  if (fd >= 0) close(fd);
  return known && mode == '2';
}

/// In the midst of three times as many free addresses: the system gives away those at one end of a gap first, on most machines
/// the upper end. Null where there are not so many.
void* where_it_may_grow(std::size_t bytes) {
  void* const gap = mmap(nullptr, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (gap == MAP_FAILED) return nullptr;
  munmap(gap, 3 * bytes);
  return static_cast<std::byte*>(gap) + bytes;
}

std::string file_of(const HeapTicket& ticket) {
  return "/proc/" + std::to_string(ticket.pid) + "/fd/" + std::to_string(ticket.fd);
}

}  // namespace

GrowingMapping::GrowingMapping(int fd, std::size_t bytes) : bytes_(bytes), base_(nullptr), end_(0) {
  const std::size_t first = std::min(mapped_at_once, bytes);
  void* const mapped = mmap(where_it_may_grow(bytes), first, plain, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (mapped == MAP_FAILED) return;
  base_ = static_cast<std::byte*>(mapped);
  end_ = first;
}

GrowingMapping::~GrowingMapping() {
  if (base_ != nullptr) munmap(base_, end());
}

// By its last page: a program may have cut into mappings what it has of a heap, of whose pages one may be protected now.
bool GrowingMapping::grow(std::size_t end) {
  const std::lock_guard lock(mutex_);
  const std::size_t begin = this->end();
  if (end <= begin) return true;
  if (end > bytes_ || is_limited(RLIMIT_AS)) return false;
  end = std::min(rounded_up(end, mapped_at_once), bytes_);
  // Not the function, which the preloaded library exports.
  if (syscall(SYS_mremap, base_ + begin - page(), page(), page() + end - begin, 0) == -1) return false;
  mprotect(base_ + begin, end - begin, plain);
  end_.store(end, std::memory_order_release);
  return true;
}

// Where a parent waits for its child's word that it has its copies, or for its end. Made before it is needed, as a program may have as
// many files open as it may. Not only for the end: another child that knows nothing of it may have its files.
class Gate {
 public:
  void make() {
    if (is_there() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) != 0) return;
    for (int i = 0; i < 2; ++i) inodes_[i] = inode_of(ends_[i]);
  }
  void wait() {
    if (!is_there()) return;
    close(ends_[1]);
    char word;
    while (read(ends_[0], &word, 1) < 0 && errno == EINTR) {
    }
    close(ends_[0]);
  }
  /// In the child, which needs a file for what it does before it passes.
  void enter() {
    entered_ = is_there();
    if (entered_) close(ends_[0]);
  }
  void pass() {
    if (!entered_) return;
    send(ends_[1], "", 1, MSG_NOSIGNAL);
    close(ends_[1]);
  }

 private:
  static ino_t inode_of(int file) {
    struct stat status{};
    return fstat(file, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
  }
  // A program may have closed what it did not open, and opened others.
  bool is_there() const {
    return inodes_[0] != 0 && inode_of(ends_[0]) == inodes_[0] && inode_of(ends_[1]) == inodes_[1];
  }
  int ends_[2] = {-1, -1};
  ino_t inodes_[2] = {0, 0};
  bool entered_ = false;
};

struct ForkHandlers {
  static void before() {
    alive().mutex.lock();
    for (Heap* heap : alive().heaps) {
      heap->mutex_.lock();
      if (heap->any_mapped_also_) part_with_stack(*heap);
    }
    if (any_shared()) gate.make();
  }
  // A child runs on the stack of who forks, and with what is local to that thread, before it has its copies. The system makes one of pages
  // that may be in use.
  static void part_with_stack(const Heap& heap) {
    constexpr std::uintptr_t below = 32 << 10;  // that handlers may need
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const Mappings mappings;
    for (const std::uintptr_t address : {here, here - below}) {
      const auto found = mappings.at(address);
      if (!found || !found->shared || heap.behind(*found) == nullptr) continue;
      auto* const begin = reinterpret_cast<void*>(found->begin);
      const std::size_t bytes = found->end - found->begin;
      constexpr int populate_for_writing = 23;  // as <linux/mman.h> has it since Linux 5.14
      if (mmap(begin, bytes, found->protection(), MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, heap.fd_,
               static_cast<off_t>(found->offset)) != MAP_FAILED)
        syscall(SYS_madvise, begin, bytes, populate_for_writing);
    }
  }
  static void in_parent() {
    if (any_shared()) {
      gate.wait();
      gate.make();  // for the next one
    }
    after(false);
  }
  static void in_child() {
    if (any_shared()) gate.enter();
    after(true);
    gate.pass();
  }
  static void after(bool child) {
    for (Heap* heap : alive().heaps) heap->after_fork(child);
    alive().mutex.unlock();
  }
  static void install() {
    static const int once = pthread_atfork(before, in_parent, in_child);
    (void)once;
    const std::lock_guard lock(alive().mutex);
    gate.make();
  }
  static bool any_shared() {
    return std::ranges::any_of(alive().heaps, [](const Heap* heap) { return heap->fd_ >= 0; });
  }
  static inline Gate gate;
};

void before_fork() { ForkHandlers::before(); }
void after_fork_in_parent() { ForkHandlers::in_parent(); }
void after_fork_in_child() { ForkHandlers::in_child(); }

std::size_t Heap::usual_bytes() {
  if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_FSIZE) || memory_is_counted()) return 0;
  const auto memory =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min(memory, max_usual_bytes);
}

std::unique_ptr<Heap> Heap::make(std::size_t max_bytes, std::string& error) {
  const std::size_t bytes = rounded_up(max_bytes, page());
  if (bytes < 2 * page()) {
    error = "cannot make a heap that peers can map: address space or memory is limited";
    return nullptr;
  }
  const int fd = memfd_create("omnes-heap", MFD_CLOEXEC);
  std::unique_ptr<Heap> heap;
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0) heap.reset(new Heap(fd, bytes));
  if (!heap || heap->mapping_.base() == nullptr) {
    error = std::string("cannot make a heap that peers can map: ") + std::strerror(errno);
    if (!heap && fd >= 0) close(fd);
    return nullptr;
  }
  std::memcpy(heap->mapping_.base(), &heap->nonce_, sizeof nonce_);
  ForkHandlers::install();
  const std::lock_guard lock(alive().mutex);
  alive().heaps.push_back(heap.get());
  return heap;
}

Heap::Heap(int fd, std::size_t bytes)
    : bytes_(bytes),
      fd_(fd),
      mapping_(fd, bytes),
      base_(reinterpret_cast<std::uintptr_t>(mapping_.base())),
      nonce_(new_nonce()) {
  struct stat status{};
  if (fstat(fd, &status) == 0) {
    inode_ = status.st_ino;
    device_ = device_of(status.st_dev);
  }
  clean_.add({page(), bytes - page()});  // the nonce has the first page
}

Heap::~Heap() {
  {
    const std::lock_guard lock(alive().mutex);
    std::erase(alive().heaps, this);
  }
  if (fd_ >= 0) close(fd_);
}

HeapTicket Heap::ticket() const {
  const std::lock_guard lock(mutex_);
  if (fd_ < 0) return {};
  return {getpid(), fd_, base_, bytes_, nonce_};
}

void Heap::Pieces::put(Piece piece) {
  by_offset_[piece.offset] = piece.bytes;
  by_bytes_.insert({piece.bytes, piece.offset});
}

void Heap::Pieces::drop(std::map<std::size_t, std::size_t>::iterator piece) {
  by_bytes_.erase({piece->second, piece->first});
  by_offset_.erase(piece);
}

void Heap::Pieces::add(Piece piece) {
  const auto after = by_offset_.find(piece.offset + piece.bytes);
  if (after != by_offset_.end()) {
    piece.bytes += after->second;
    drop(after);
  }
  auto before = by_offset_.lower_bound(piece.offset);
  if (before != by_offset_.begin() && (--before)->first + before->second == piece.offset) {
    piece = {before->first, before->second + piece.bytes};
    drop(before);
  }
  put(piece);
}

Heap::Piece Heap::Pieces::cut(std::size_t bytes, std::size_t alignment, std::uintptr_t base) {
  for (auto fit = by_bytes_.lower_bound({bytes, 0}); fit != by_bytes_.end(); ++fit) {
    const auto [room, offset] = *fit;
    const std::size_t begin = rounded_up(base + offset, alignment) - base, end = offset + room;
    if (begin > end || bytes > end - begin) continue;
    drop(by_offset_.find(offset));
    if (offset < begin) put({offset, begin - offset});
    if (begin + bytes < end) put({begin + bytes, end - begin - bytes});
    return {begin, bytes};
  }
  return {};
}

void* Heap::take(std::size_t bytes, std::size_t alignment, bool zeroed) {
  OMNES_ASSERT(bytes > 0 && std::has_single_bit(alignment));
  if (bytes > bytes_) return nullptr;
  bytes = rounded_up(bytes, page());
  alignment = std::max(alignment, page());
  const std::lock_guard lock(mutex_);
  if (fd_ < 0) return nullptr;
  bool dirty = !zeroed;
  Piece piece = (dirty ? dirty_ : clean_).cut(bytes, alignment, base_);
  if (piece.bytes == 0) {
    dirty = !dirty;
    piece = (dirty ? dirty_ : clean_).cut(bytes, alignment, base_);
  }
  if (piece.bytes == 0) return nullptr;
  if (!mapping_.reach(piece.offset + bytes)) {
    (dirty ? dirty_ : clean_).add(piece);
    return nullptr;
  }
  used_[piece.offset] = bytes;
  if (dirty) dirty_bytes_ -= bytes;
  void* const taken = reinterpret_cast<void*>(base_ + piece.offset);
  if (zeroed && dirty) std::memset(taken, 0, bytes);
  return taken;
}

void Heap::give_back(void* piece, bool keep_pages) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(piece) - base_;
  const std::lock_guard lock(mutex_);
  const auto used = used_.find(offset);
  if (used == used_.end()) return;
  const std::size_t bytes = used->second;
  used_.erase(used);
  if (fd_ < 0) {  // private
    madvise(piece, bytes, MADV_DONTNEED);
    return;
  }
  const bool keep = keep_pages && dirty_bytes_ + bytes <= max_dirty_bytes;
  const bool dirty = keep || !punch_hole(offset, bytes);
  if (dirty) dirty_bytes_ += bytes;
  (dirty ? dirty_ : clean_).add({offset, bytes});
}

std::size_t Heap::used_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [offset, bytes] : used_) sum += bytes;
  return sum;
}

std::size_t Heap::room(const void* piece) const {
  const std::lock_guard lock(mutex_);
  const auto used = used_.find(reinterpret_cast<std::uintptr_t>(piece) - base_);
  return used == used_.end() ? 0 : used->second;
}

bool Heap::punch_hole(std::size_t offset, std::size_t bytes) const {
  return has_its_file() && fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                     static_cast<off_t>(bytes)) == 0;
}

void Heap::release(void* pages, std::size_t bytes) {
  if (fd_ >= 0) punch_hole(reinterpret_cast<std::uintptr_t>(pages) - base_, bytes);
}

void Heap::after_fork(bool child) {
  if (child && fd_ >= 0) become_private();
  ++forks_;
  mutex_.unlock();
}

bool Heap::has_its_file() const {
  struct stat status{};
  return fstat(fd_, &status) == 0 && status.st_ino == inode_ && device_of(status.st_dev) == device_;
}

bool Heap::write(void* piece, const void* data, std::size_t bytes) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(piece) - base_;
  OMNES_ASSERT(offset + bytes <= bytes_);
  const std::lock_guard lock(mutex_);
  rlimit limit{};  // beyond it there would be a signal
  if (fd_ < 0 || !has_its_file() || getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < offset + bytes)
    return false;
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n =
        pwrite(fd_, static_cast<const std::byte*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

bool Heap::map_also(void* address, const void* piece, std::size_t bytes) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(piece) - base_;
  OMNES_ASSERT(offset % page() == 0 && bytes % page() == 0 && offset + bytes <= bytes_);
  const std::lock_guard lock(mutex_);
  if (fd_ < 0 || !has_its_file()) return false;
  any_mapped_also_.store(true, std::memory_order_relaxed);
  constexpr int flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE | MAP_POPULATE;
  return mmap(address, bytes, PROT_READ | PROT_WRITE, flags, fd_, static_cast<off_t>(offset)) != MAP_FAILED;
}

bool Heap::is_mapped(const Mappings& mappings, const void* address, const void* piece, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(piece) - base_;
  const auto found = mappings.at(begin);
  return found && is_own(*found) && found->shared && found->readable && found->writable &&
         found->offset + (begin - found->begin) == offset && begin + bytes <= found->end;
}

std::byte* Heap::behind(const Mapping& mapping) const {
  const bool elsewhere = is_own(mapping) && !holds(reinterpret_cast<const void*>(mapping.begin));
  return elsewhere ? reinterpret_cast<std::byte*>(base_ + mapping.offset) : nullptr;
}

// In the child, while its parent waits (without a pipe it does not: what it writes meanwhile may be seen).
void Heap::become_private() {
  if (any_mapped_also_) {
    for_each_elsewhere(Mappings(), 0, UINTPTR_MAX, [this](const Mapping& mapping) {
      if (!mapping.shared) return;  // already
      copy_privately(mapping.begin, mapping.end - mapping.begin, mapping.offset, mapping.protection());
    });
    any_mapped_also_ = false;
  }
  for (const auto& [offset, bytes] : used_) copy_privately(base_ + offset, bytes, offset, plain);
  if (has_its_file()) close(fd_);
  fd_ = -1;
}

// Puts a copy of what lies at `offset` in the file in place of what is mapped at `address`.
void Heap::copy_privately(std::uintptr_t address, std::size_t bytes, std::size_t offset, int protection) const {
  // As the kernel does when it has no memory for a child's copy: nothing else would be right.
  const auto end_it = [] { raise(SIGKILL); };
  void* const copy = mmap(nullptr, bytes, plain, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) end_it();
  if (has_its_file()) {
    if (!read(static_cast<std::byte*>(copy), bytes, offset)) end_it();
  } else {
    auto* const mapped = reinterpret_cast<void*>(address);
    mprotect(mapped, bytes, PROT_READ);
    std::memcpy(copy, mapped, bytes);
  }
  if (protection != plain && mprotect(copy, bytes, protection) != 0) end_it();
  // Not the function, which the preloaded library exports.
  if (syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) == -1) end_it();
}

// Into zeros, so holes need not be read.
bool Heap::read(std::byte* into, std::size_t bytes, std::size_t offset) const {
  const auto begin = static_cast<off_t>(offset), end = begin + static_cast<off_t>(bytes);
  for (off_t data = lseek(fd_, begin, SEEK_DATA); data >= 0 && data < end;) {
    const off_t hole = std::min(lseek(fd_, data, SEEK_HOLE), end);
    while (data < hole) {
      const ssize_t n = pread(fd_, into + (data - begin), static_cast<std::size_t>(hole - data), data);
      if (n <= 0) return false;
      data += n;
    }
    data = lseek(fd_, hole, SEEK_DATA);
  }
  return true;
}

std::shared_ptr<PeerHeap> PeerHeap::map(const HeapTicket& ticket) {
  if (ticket.bytes == 0) return nullptr;
  const int fd = open(file_of(ticket).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat status{};
  const bool as_long = fstat(fd, &status) == 0 && static_cast<std::uint64_t>(status.st_size) == ticket.bytes;
  std::shared_ptr<PeerHeap> heap(as_long && !is_limited(RLIMIT_AS) ? new PeerHeap(ticket, fd) : nullptr);
  close(fd);
  if (!heap || heap->mapping_.base() == nullptr) return nullptr;
  put_into_core_dumps(heap->mapping_.base(), heap->mapping_.end(), false);  // nor what it grows by
  std::uint64_t nonce;
  std::memcpy(&nonce, heap->mapping_.base(), sizeof nonce);
  // In another process namespace the same numbers may name something else.
  return nonce == ticket.nonce ? heap : nullptr;
}

bool PeerHeap::read(std::uint64_t address, void* into, std::size_t bytes) const {
  if (!MappedMemory{ticket_.address, ticket_.bytes}.has(address, bytes)) return false;
  const int fd = open(file_of(ticket_).c_str(), O_RDONLY | O_CLOEXEC);
  std::uint64_t nonce = 0;  // as above
  bool all = fd >= 0 && pread(fd, &nonce, sizeof nonce, 0) == sizeof nonce && nonce == ticket_.nonce;
  for (std::size_t done = 0; all && done < bytes;) {
    const ssize_t n = pread(fd, static_cast<std::byte*>(into) + done, bytes - done,
                            static_cast<off_t>(address - ticket_.address + done));
    all = n > 0;
    if (all) done += static_cast<std::size_t>(n);
  }
  if (fd >= 0) close(fd);
  return all;
}

}  // namespace omnes::shm
