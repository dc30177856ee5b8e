// What may be adopted, when it pays, and how pages change their place.
#include "transport/shm/heap/adoption.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/control_groups.hpp"
#include "transport/shm/system_memory.hpp"

namespace omnes::shm {

namespace {

// Copied at once: so much memory more than before is needed while a buffer is adopted.
constexpr std::size_t stride = std::size_t{1} << 20;

// What a process may have in adopted buffers at a time: each cuts a mapping, of which it may have 65530.
// The more there are, the longer takes a look at all, as before each adoption.
constexpr std::size_t max_adopted = 256;

// Pages that come back do not become one mapping with those beside them: so often at most.
constexpr std::size_t max_given_back = 8192;

// And of memory, which a child of a fork copies, and which is kept for some calls after free() has unmapped it.
constexpr std::size_t least_limit = std::size_t{32} << 20, greatest_limit = std::size_t{128} << 20;

std::size_t number_of(int what) { return static_cast<std::size_t>(std::max(sysconf(what), 1L)); }

/// What the machine has, or this process and others in its control groups may have.
std::size_t memory_of_all() {
  std::size_t least = number_of(_SC_PHYS_PAGES) * page();
  for_each_control_group("memory", "", [&](const std::string& group) {
    for (const char* const file : {"memory.max", "memory.limit_in_bytes"}) {  // of version 2 and 1
      std::size_t bytes = 0;
      if (std::ifstream(group + "/" + file) >> bytes) least = std::min(least, bytes);
    }
  });
  return least;
}

std::size_t max_adopted_bytes() {
  const std::size_t memory = memory_of_all();
  const std::size_t share = memory / number_of(_SC_NPROCESSORS_CONF) / 32;  // of a rank for each CPU
  return std::clamp(share, std::min(least_limit, memory / 64), greatest_limit);
}

// After which the price of a buffer does not double again.
constexpr std::uint32_t max_losses = 20;

constexpr double never_pays = 1e9;  // ns for a byte

// Of 4 KiB they are Adoption::min_bytes: the ends are copied, for each message.
constexpr std::size_t min_pages = 8;

// Bytes whose copies take ten times as long as to measure prices, 0.5 ms: a program whose buffers come back less often loses by it.
constexpr std::size_t worth_measuring = std::size_t{64} << 20;

// ns: about what it takes to see whether a buffer may be adopted, before one has been.
constexpr double first_look = 300'000;

std::byte* page_from(std::byte* address) {
  return reinterpret_cast<std::byte*>(rounded_up(reinterpret_cast<std::uintptr_t>(address), page()));
}
std::byte* page_up_to(std::byte* address) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) / page() * page());
}

/// And of no file.
bool is_private(const Mapping& mapping) { return mapping.inode == 0 && !mapping.shared; }

/// Memory as malloc has it from the system.
bool is_plain(const Mapping& mapping) {
  return is_private(mapping) && mapping.readable && mapping.writable && !mapping.executable;
}

/// Of this thread's own time: others may have the CPU meanwhile.
double nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Adds what this thread needs meanwhile.
class Spending {
 public:
  explicit Spending(double& sum) : sum_(sum) {}
  ~Spending() { sum_ += nanoseconds() - begin_; }
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;

 private:
  double& sum_;
  const double begin_ = nanoseconds();
};

/// Of memory that must stay where it is: locked, or pinned for a device or the kernel.
bool some_memory_is_locked() {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmLck:") || line.starts_with("VmPin:"))
      if (std::sscanf(line.c_str() + 6, "%zu", &kilobytes) == 1 && kilobytes > 0) return true;
  return false;
}

/// A driver may have been told of pages: RDMA, GPUs. In a container its file may have been put into /dev from elsewhere.
bool some_device_is_mapped(const Mappings& mappings) {
  struct stat file{};
  if (stat("/dev", &file) != 0) return true;
  const std::uint64_t there = device_of(file.st_dev);
  std::uint64_t harmless = 0;  // most files are of one system
  for (auto next = mappings.of_file_from(0); next; next = mappings.of_file_from(next->end)) {
    if (next->device == there) return true;
    if (next->device == harmless) continue;
    const std::string name = mappings.name_at(next->begin);
    if (name.starts_with("/dev/") && stat(name.c_str(), &file) == 0 && S_ISCHR(file.st_mode)) return true;
    harmless = next->device;
  }
  return false;
}

/// Who has such a file may have asked to be told of what happens to pages.
bool some_userfaultfd_is_open() {
  DIR* const files = opendir("/proc/self/fd");
  if (files == nullptr) return true;
  bool found = false;
  char target[64];
  constexpr std::string_view wanted = "anon_inode:[userfaultfd]";
  struct stat its{};
  while (const dirent* const file = found ? nullptr : readdir(files)) {
    if (fstat(std::atoi(file->d_name), &its) != 0 || (its.st_mode & S_IFMT) != 0) continue;  // files, pipes, sockets
    const ssize_t n = readlinkat(dirfd(files), file->d_name, target, sizeof target);
    found = n > 0 && std::string_view(target, static_cast<std::size_t>(n)) == wanted;
  }
  closedir(files);
  return found;
}

/// Whether nobody else knows which pages lie where.
bool pages_may_move(const Mappings& mappings) {
  return !some_memory_is_locked() && !some_userfaultfd_is_open() && !some_device_is_mapped(mappings);
}

bool is_on_own_stack(const std::byte* first, std::size_t bytes) {
  const bool is_first_thread = syscall(SYS_gettid) == getpid();
  if (is_first_thread) {  // of which the C library would read all mappings
    const auto* const top = reinterpret_cast<const std::byte*>(getauxval(AT_EXECFN));
    return first < top && static_cast<const std::byte*>(__builtin_frame_address(0)) < first + bytes;
  }
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
  void* stack = nullptr;
  std::size_t room = 0;
  pthread_attr_getstack(&attributes, &stack, &room);
  pthread_attr_destroy(&attributes);
  const auto* const begin = static_cast<const std::byte*>(stack);
  return first < begin + room && begin < first + bytes;
}

/// Whether huge pages may be in use at all.
bool may_be_huge() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  return std::getline(file, text) && text.find("[never]") == std::string::npos;
}

// As <linux/fs.h> has it since Linux 6.7.
struct PageScan {
  std::uint64_t size, flags, begin, end, walked_to, results, result_count, max_pages;
  std::uint64_t inverted, all_of, any_of, returned;
};
struct PageRegion {
  std::uint64_t begin, end, categories;
};
constexpr unsigned long scan_pages = _IOWR('f', 16, PageScan);
constexpr std::uint64_t page_is_huge = 1 << 6;

bool some_are_huge(const std::byte* first, std::size_t bytes) {
  static const bool possible = may_be_huge();
  if (!possible) return false;
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  PageRegion found{};
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  PageScan scan{.size = sizeof scan,
                .flags = 0,
                .begin = begin,
                .end = begin + bytes,
                .walked_to = 0,
                .results = reinterpret_cast<std::uintptr_t>(&found),
                .result_count = 1,
                .max_pages = 1,
                .inverted = 0,
                .all_of = page_is_huge,
                .any_of = 0,
                .returned = page_is_huge};
  const int regions = fd < 0 ? -1 : ioctl(fd, scan_pages, &scan);
  if (fd >= 0) close(fd);
  return regions != 0;  // or not known
}

/// Whether all pages that are there are of the memory nearest to this CPU, where there are several.
bool all_lie_near(std::byte* first, std::size_t bytes) {
  if (!has_several_memories()) return true;
  unsigned own = 0;
  if (syscall(SYS_getcpu, nullptr, &own, nullptr) != 0) return false;  // the C library has it since glibc 2.29
  std::vector<void*> pages;
  for (std::size_t at = 0; at < bytes; at += page()) pages.push_back(first + at);
  std::vector<int> nodes(pages.size(), -1);
  if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) return false;
  return std::ranges::all_of(nodes, [&](int node) { return node < 0 || node == static_cast<int>(own); });
}

/// By mbind, which would not hold for the pages of a file.
bool has_own_policy(std::uintptr_t address) {
  constexpr unsigned long of_address = 2;  // as <linux/mempolicy.h> has it
  int policy = 0;
  return syscall(SYS_get_mempolicy, &policy, nullptr, 0, address, of_address) == 0 && policy != 0;
}

/// Puts a private copy of what lies at `from` in place of the pages at `first`: so many bytes at once, so that who reads sees no difference.
/// A heap given with it keeps none of what lay there: no more memory is needed than a copy of so much.
bool make_private(std::byte* first, std::byte* from, std::size_t bytes, Heap* heap = nullptr,
                  std::size_t at_once = stride) {
  // Moved one after the other, the parts of one mapping become one again: a process has not many.
  void* const copies = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copies == MAP_FAILED) return false;
  for (std::size_t done = 0; done < bytes; done += at_once) {
    const std::size_t n = std::min(at_once, bytes - done);
    std::byte* const copy = static_cast<std::byte*>(copies) + done;
    std::memcpy(copy, from + done, n);
    // Not the function, which this library exports.
    const long moved = syscall(SYS_mremap, copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, first + done);
    if (moved == -1) {
      munmap(copy, bytes - done);
      return false;
    }
    if (heap != nullptr) heap->release(from + done, n);
  }
  return true;
}

/// The other way round; false: as before, or some of it stays there, where the process may have no more mappings.
bool move_into(Heap& heap, std::byte* first, std::byte* pages, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += stride) {
    const std::size_t n = std::min(stride, bytes - done);
    if (heap.write(pages + done, first + done, n) && heap.map_also(first + done, pages + done, n)) continue;
    make_private(first, pages, done, &heap);
    return false;
  }
  return true;
}

}  // namespace

std::byte* Adopted::pages_in_heap() const { return piece_ + page() + before_; }

std::byte* Adopted::in_heap(const std::byte* data, std::size_t bytes) const {
  const std::byte* const last = first_ + bytes_;
  const bool fits = data + page() > first_ && data + bytes < last + page() && data < last && data + bytes > first_;
  return fits ? pages_in_heap() + (data - first_) : nullptr;
}

template <class Copy>
void Adopted::for_ends(std::byte* data, std::size_t bytes, Copy copy) const {
  std::byte *const last = first_ + bytes_, *const end = data + bytes;
  if (data < first_) copy(data, pages_in_heap() + (data - first_), static_cast<std::size_t>(first_ - data));
  if (end > last) copy(last, pages_in_heap() + bytes_, static_cast<std::size_t>(end - last));
}

void Adopted::bring_ends(const std::byte* data, std::size_t bytes) const {
  for_ends(const_cast<std::byte*>(data), bytes,
           [](const std::byte* own, std::byte* in_heap, std::size_t n) { std::memcpy(in_heap, own, n); });
}

void Adopted::take_ends(std::byte* data, std::size_t bytes) const {
  for_ends(data, bytes, [](std::byte* own, const std::byte* in_heap, std::size_t n) { std::memcpy(own, in_heap, n); });
}

Adoption::Adoption(Heap& heap, IsTold is_told)
    : heap_(heap), is_told_(is_told), max_bytes_(max_adopted_bytes()), looking_(first_look) {}

std::unique_ptr<Adoption> Adoption::make(Heap& heap, IsTold is_told) {
  std::unique_ptr<Adoption> adoption(new Adoption(heap, is_told));
  if (!adoption->mappings_.answer()) return nullptr;
  return adoption;
}

Adoption::~Adoption() {
  const std::lock_guard lock(mutex_);
  if (!heap_.any_mapped_also()) return;  // none, or in a child of a fork
  while (!adopted_.empty() && give_back(adopted_.begin())) {
  }
}

std::size_t Adoption::adopted_bytes() const {
  const std::lock_guard lock(mutex_);
  return adopted_bytes_;
}

AdoptionTally Adoption::tally() const {
  const std::lock_guard lock(mutex_);
  return tally_;
}

/// The first one that has pages of those.
Adoption::ByAddress::iterator Adoption::find(std::byte* first, std::byte* end) {
  auto at = adopted_.lower_bound(first);
  if (at != adopted_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second->bytes_ > first) at = before;
  }
  return at != adopted_.end() && at->first < end ? at : adopted_.end();
}

bool Adoption::is_whole(const Adopted& adopted) const {
  return heap_.is_mapped(mappings_, adopted.first_, adopted.pages_in_heap(), adopted.bytes_);
}

Adopted* Adoption::use(std::byte* buffer, std::size_t bytes) {
  if (bytes < min_bytes || bytes < min_pages * page()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!adopted_.empty() && !heap_.any_mapped_also()) return nullptr;  // in a child of a fork
  ++uses_;
  look_at_another();
  std::byte *const first = page_from(buffer), *const end = page_up_to(buffer + bytes);
  if (const auto at = find(first, end); at != adopted_.end()) {
    Adopted& found = *at->second;
    const bool belongs = first <= found.first_ && found.first_ + found.bytes_ <= end;
    if (!is_whole(found) || (belongs && (found.makes_room_ || !pays(found)) && pages_may_move(mappings_))) {
      if (found.users_ > 0 || !give_back(at)) return nullptr;
    } else if (found.in_heap(buffer, bytes) != nullptr) {
      const double saved = saving(bytes);
      ++found.users_;
      found.used_at_ = uses_;
      found.saved_ += saved;
      ++tally_.uses;
      tally_.saved += saved;
      return &found;
    }
  }
  if (!wanted(buffer, bytes)) return nullptr;
  Adopted* const adopted = adopt(buffer, bytes);
  candidate(buffer).since = uses_;
  if (adopted != nullptr) {
    ++adopted->users_;
  } else {
    ++candidate(buffer).losses;
    ++tally_.refused;
  }
  return adopted;
}

void Adoption::done(Adopted* adopted) {
  const std::lock_guard lock(mutex_);
  OMNES_ASSERT(adopted->users_ > 0);
  --adopted->users_;
}

/// Not where each of many forks had to copy it.
bool Adoption::pays(Adopted& adopted) const {
  const unsigned forks = heap_.forks() - std::exchange(adopted.forks_, heap_.forks());
  const double price = adopting_ * static_cast<double>(adopted.bytes_);
  adopted.saved_ -= price * forks;
  return forks == 0 || adopted.saved_ >= -2 * price;
}

double Adoption::saving(std::size_t bytes) const {
  return std::max(copying_ * static_cast<double>(bytes) - asking_, 0.0);
}

// What a program has freed is found out little by little, without a call that takes long.
void Adoption::look_at_another() {
  constexpr unsigned seldom = 8;  // calls
  if (adopted_.empty() || uses_ % seldom != 0) return;
  auto at = adopted_.upper_bound(looked_at_);
  if (at == adopted_.end()) at = adopted_.begin();
  looked_at_ = at->first;
  if (at->second->users_ == 0 && !is_whole(*at->second)) give_back(at);
}

void Adoption::look_at_all() {
  for (auto at = adopted_.begin(); at != adopted_.end();) {
    const auto here = at++;
    if (here->second->users_ == 0 && !is_whole(*here->second)) give_back(here);
  }
  look_at_given_up();
}

// An allocator may get here from within anything that allocates: without a lock, and without a look at what was adopted. Where
// pages have become private, is_whole() will say so.
void Adoption::before_discard(void* address, std::size_t bytes) {
  if (!heap_.any_mapped_also() || page_from(static_cast<std::byte*>(address)) != address)
    return;  // the kernel refuses it
  const auto begin = reinterpret_cast<std::uintptr_t>(address), end = rounded_up(begin + bytes, page());
  heap_.for_each_elsewhere(mappings_, begin, end, [&](const Mapping& mapping) {
    const std::uintptr_t from = std::max(begin, mapping.begin);
    auto* const first = reinterpret_cast<void*>(from);
    const std::size_t n = std::min(end, mapping.end) - from;
    // At first: what lies there is somebody else's as soon as it is mapped nowhere else.
    if (mapping.shared) heap_.release(heap_.behind(mapping) + (from - mapping.begin), n);
    if (mmap(first, n, mapping.protection(), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED &&
        mapping.writable)
      std::memset(first, 0, n);
  });
}

// Pages that have come back do not become one with those beside them, and what consists of several mappings cannot be moved. So
// all of it becomes one, if it is what only adoption can have cut into pieces.
void Adoption::before_move(void* address, std::size_t bytes) {
  if (!heap_.any_mapped_also()) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address), end = rounded_up(begin + bytes, page());
  std::optional<Mapping> before;
  bool some_adopted = false, several = false;
  for (std::uintptr_t next = begin; next < end;) {
    const auto found = mappings_.at(next);
    const bool adopted = found && heap_.behind(*found) != nullptr;
    if (!adopted && !(found && is_private(*found))) return;
    if (before && before->protection() != found->protection()) return;
    some_adopted |= adopted;
    several |= before.has_value();
    before = found;
    next = found->end;
  }
  if (!some_adopted && !several) return;
  auto* const first = static_cast<std::byte*>(address);
  const std::size_t rounded = end - begin;
  if (!before->readable) mprotect(first, rounded, PROT_READ);
  make_private(first, first, rounded, nullptr, rounded);
  if (constexpr int plain = PROT_READ | PROT_WRITE; before->protection() != plain)
    mprotect(first, rounded, before->protection());
}

// Where its pages are not all there any more, what is left of them stays as it is: its owner may have moved them.
bool Adoption::give_back(ByAddress::iterator at) {
  Adopted& adopted = *at->second;
  if (is_whole(adopted)) {
    if (!make_private(adopted.first_, adopted.pages_in_heap(), adopted.bytes_, &heap_)) return false;
    ++given_back_;
  }
  adopted_bytes_ -= adopted.bytes_;
  const std::unique_ptr<Adopted> gone = std::move(at->second);
  adopted_.erase(at);
  if (Candidate& former = candidate(gone->buffer_); former.buffer == gone->buffer_)
    former.losses = gone->saved_ < adopting_ * static_cast<double>(gone->bytes_) ? former.losses + 1 : 0;
  if (gone->users_ == 0) give_up(gone->piece_, gone->piece_bytes_);
  return true;
}

void Adoption::give_up(std::byte* piece, std::size_t bytes) {
  given_up_.emplace_back(piece, piece + bytes);
  look_at_given_up();
}

// The heap gets back what is mapped nowhere else, and what of a piece is still mapped once that is gone, too.
void Adoption::look_at_given_up() {
  if (given_up_.empty() || !mappings_.answer()) return;
  std::vector<std::pair<std::byte*, std::byte*>> mapped;  // in the heap
  heap_.for_each_elsewhere(mappings_, 0, UINTPTR_MAX, [&](const Mapping& mapping) {
    if (!mapping.shared) return;  // of a stack, by a fork: of the heap it has nothing
    std::byte* const begin = heap_.behind(mapping);
    mapped.emplace_back(begin, begin + (mapping.end - mapping.begin));
  });
  std::ranges::sort(mapped);
  std::erase_if(given_up_, [&](const auto& piece) {
    auto [free, end] = piece;
    for (const auto& [from, to] : mapped) {
      if (to <= free || from >= end) continue;
      if (free < from) heap_.release(free, static_cast<std::size_t>(from - free));
      free = to;
    }
    if (free == piece.first) {
      heap_.give_back(free, false);
      return true;
    }
    if (free < end) heap_.release(free, static_cast<std::size_t>(end - free));
    return false;
  });
}

bool Adoption::give_back_part(ByAddress::iterator at, std::byte* first, std::byte* end) {
  Adopted& adopted = *at->second;
  first = std::max(first, adopted.first_);
  end = std::min(end, adopted.first_ + adopted.bytes_);
  const auto bytes = static_cast<std::size_t>(end - first);
  std::byte* const in_heap = adopted.pages_in_heap() + (first - adopted.first_);
  if (!make_private(first, in_heap, bytes, &heap_)) return false;
  ++given_back_;
  adopted.bytes_ -= bytes;
  adopted_bytes_ -= bytes;
  if (first == adopted.first_) {
    adopted.first_ = end;
    adopted.before_ += bytes;
    auto moved = adopted_.extract(at);
    moved.key() = end;
    adopted_.insert(std::move(moved));
  }
  return true;
}

Adoption::CandidateSet& Adoption::set_of(const std::byte* buffer) {
  return candidates_[reinterpret_cast<std::uintptr_t>(buffer) / 64 * 0x9e3779b97f4a7c15 >> 60];
}

Adoption::Candidate& Adoption::candidate(const std::byte* buffer) {
  CandidateSet& set = set_of(buffer);
  const auto known = std::ranges::find(set, buffer, &Candidate::buffer);
  if (known != set.end()) return *known;
  return *std::ranges::min_element(set, {},
                                   [](const Candidate& one) { return std::pair(one.buffer != nullptr, one.spent); });
}

// As one who may rent or buy skis: who buys once the rents have come to three times the price pays at most a third more than who
// never buys, and loops that go on for long do not notice. To ask for the price has one, too.
constexpr double patience = 3;

/// Whether this is the 1st to 8th, 10th, 12th, 14th, 16th, 20th, ... time. Others wait for a rank that adopts: those whose
/// prices differ a little do it in the same call.
bool is_round(std::uint32_t times) { return times < 8 || times % (std::bit_floor(times) / 4) == 0; }

bool Adoption::wanted(std::byte* buffer, std::size_t bytes) {
  if (adopting_ != 0 && saving(bytes) == 0) return false;
  Candidate& known = candidate(buffer);
  if (known.buffer != buffer) {
    known = {.buffer = buffer, .bytes = bytes, .since = uses_};
    for (Candidate& other : set_of(buffer)) other.spent /= 2;  // who does not come any more makes room at last
    return false;
  }
  if (bytes > known.bytes) {  // it may grow further: the more it has grown, the less says what was before
    const double grown = static_cast<double>(bytes) / static_cast<double>(known.bytes);
    known.spent /= grown * grown;
    known.bytes = bytes;
    known.times = 0;
  }
  if (adopting_ == 0) {
    came_back_ += bytes;
    if (came_back_ < worth_measuring) return false;
    measure();
  }
  known.spent += saving(bytes);
  const auto doubled = static_cast<double>(1U << std::min(known.losses, max_losses));
  const double enough = patience * doubled * (looking_ + adopting_ * static_cast<double>(known.bytes));
  if (bytes < known.bytes / 8 * 7) {  // no part of it: what is longer will come again, or else is over
    if (known.spent >= 2 * enough)
      known = {.buffer = buffer, .bytes = bytes, .losses = known.losses, .since = known.since};
    return false;
  }
  if (!is_round(known.times++) || known.spent < enough) return false;
  known.spent = 0;
  return true;
}

Adopted* Adoption::adopt(std::byte* buffer, std::size_t bytes) {
  const Spending spending(tally_.spent);
  const double started = nanoseconds();
  std::byte *const first = page_from(buffer), *const end = page_up_to(buffer + bytes);
  const auto pages = static_cast<std::size_t>(end - first);
  if (pages > max_bytes_ || given_back_ >= max_given_back || !is_told_() || !pages_may_move(mappings_)) return nullptr;
  std::vector<std::byte*> grown;  // what it was before, which stays adopted until it lies elsewhere in the heap
  std::size_t already = 0;        // bytes of it
  std::byte* next = first;        // of what is not adopted
  for (auto at = find(first, end); at != adopted_.end(); at = find(next, end)) {
    const Adopted& found = *at->second;
    // What lies beside the buffer does not belong to the call: others may write it while it would become private.
    const bool before = at->first < first;
    const bool behind = at->first + found.bytes_ > end;
    if (found.users_ > 0 || (before && behind)) return nullptr;
    if (!is_whole(found)) {
      if (!give_back(at)) return nullptr;
    } else if (before || behind) {
      if (!give_back_part(at, first, end)) return nullptr;
    } else {
      if (!clear_for_adoption(next, at->first)) return nullptr;
      at->second->used_at_ = uses_;
      grown.push_back(at->first);
      already += found.bytes_;
      next = at->first + found.bytes_;
    }
  }
  if (!clear_for_adoption(next, end)) return nullptr;
  look_at_all();  // what is not needed any more goes before more is taken
  if (!has_room(pages - already, candidate(buffer).since)) return nullptr;
  auto* const piece = static_cast<std::byte*>(heap_.take(pages + 2 * page()));
  if (piece == nullptr) return nullptr;
  const double begin = nanoseconds();
  looking_ = (looking_ + begin - started) / 2;
  if (!move_into(heap_, first, piece + page(), pages)) {
    give_up(piece, pages + 2 * page());
    return nullptr;
  }
  for (std::byte* const former : grown) {
    const auto gone = adopted_.extract(former);
    adopted_bytes_ -= gone.mapped()->bytes_;
    give_up(gone.mapped()->piece_, gone.mapped()->piece_bytes_);
  }
  // One that was interrupted, for milliseconds where ranks share CPUs, says little.
  const double took = (nanoseconds() - begin) / static_cast<double>(pages);
  adopting_ = (adopting_ + std::min(took, 2 * adopting_)) / 2;
  adopted_bytes_ += pages;
  ++tally_.buffers;
  tally_.bytes += pages;
  return (adopted_[first] = std::make_unique<Adopted>(buffer, first, pages, piece, heap_.forks(), uses_)).get();
}

// What no call has used since then makes room, the one first that was used last; but only when a call has it next. Until then nobody may
// touch its pages: the program's threads may write there or unmap them, and the kernel may read a file into them.
bool Adoption::has_room(std::size_t bytes, std::uint64_t since) {
  if (adopted_.size() < max_adopted && adopted_bytes_ + bytes <= max_bytes_) return true;
  Adopted& oldest =
      *std::ranges::min_element(adopted_, {}, [](const auto& one) { return one.second->used_at_; })->second;
  if (oldest.used_at_ < since) oldest.makes_room_ = true;
  return false;
}

bool Adoption::clear_for_adoption(std::byte* first, std::byte* end) {
  if (first == end) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(first), last = reinterpret_cast<std::uintptr_t>(end);
  // What is left of one that is not whole any more.
  heap_.for_each_elsewhere(mappings_, begin, last, [&](const Mapping& mapping) {
    auto* const from = std::max(first, reinterpret_cast<std::byte*>(mapping.begin));
    auto* const to = std::min(end, reinterpret_cast<std::byte*>(mapping.end));
    if (mapping.readable && mapping.writable) make_private(from, from, static_cast<std::size_t>(to - from));
  });
  for (std::uintptr_t next = begin; next < last;) {
    const auto found = mappings_.at(next);
    if (!found || !is_plain(*found) || has_own_policy(next) || mappings_.name_at(next) == "[stack]") return false;
    next = found->end;
  }
  const std::size_t bytes = last - begin;
  return !is_on_own_stack(first, bytes) && !some_are_huge(first, bytes) && all_lie_near(first, bytes);
}

// On memory of its own: what it costs to adopt some, to copy as much as a message less is copied, and to ask the kernel; the best of
// some times, as others may use the caches.
void Adoption::measure() {
  const Spending spending(tally_.spent);
  constexpr std::size_t some = std::size_t{64} << 10;
  constexpr int times = 3;
  adopting_ = copying_ = never_pays;
  auto* const piece = static_cast<std::byte*>(heap_.take(2 * some));
  if (piece == nullptr) return;
  std::memset(piece + some, 1, some);
  for (int i = 0; i < times; ++i) {
    void* const own = mmap(nullptr, some, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED) break;
    std::memset(own, 1, some);
    heap_.release(piece, some);
    const double begin = nanoseconds();
    std::memcpy(piece + some, own, some);
    const double copied = nanoseconds();
    const bool moved = move_into(heap_, static_cast<std::byte*>(own), piece, some);
    const double end = nanoseconds();
    munmap(own, some);
    if (!moved) break;
    copying_ = std::min(copying_, (copied - begin) / static_cast<double>(some));
    adopting_ = std::min(adopting_, (end - copied) / static_cast<double>(some));
  }
  asking_ = never_pays;
  for (int i = 0; i < times; ++i) {
    constexpr int questions = 8;
    const double begin = nanoseconds();
    for (int n = 0; n < questions; ++n) static_cast<void>(mappings_.at(reinterpret_cast<std::uintptr_t>(piece)));
    asking_ = std::min(asking_, (nanoseconds() - begin) / questions);
  }
  heap_.give_back(piece, false);
  if (adopting_ == never_pays) copying_ = 0;
}

}  // namespace omnes::shm
