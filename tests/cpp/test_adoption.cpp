// Pages of a program's own buffers come into a heap, and leave it, without the program seeing a difference.
#include "transport/shm/heap/adoption.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "in_child.hpp"
#include "transport/shm/endpoint.hpp"

namespace omnes::shm {
namespace {

constexpr std::size_t megabyte = 1 << 20, page = 4096;

/// Memory of its own, as the system gives it.
struct Memory {
  explicit Memory(std::size_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1)
      : bytes(bytes), data(static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0))) {
    madvise(data, bytes, MADV_NOHUGEPAGE);
  }
  ~Memory() { munmap(data, bytes); }
  void fill(unsigned seed) const {
    for (std::size_t i = 0; i < bytes; ++i) data[i] = value(seed, i);
  }
  bool is_filled(unsigned seed) const { return holds(data, seed, 0, bytes); }
  static bool holds(const std::byte* at, unsigned seed, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (at[i] != value(seed, first + i)) return false;
    return true;
  }
  static std::byte value(unsigned seed, std::size_t i) { return std::byte(seed + i * 7 + i / 4099); }
  const std::size_t bytes;
  std::byte* const data;
};

class AdoptionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string error;
    heap = Heap::make(256 * megabyte, error);
    ASSERT_TRUE(heap) << error;
    adoption = Adoption::make(*heap, [] { return true; });
    if (!adoption) GTEST_SKIP() << "this kernel does not say where memory is mapped (Linux 6.11 does)";
  }
  /// As a program that comes with it again and again. Null: it is not adopted.
  Adopted* come_back(std::byte* buffer, std::size_t bytes, int times = 100000) {
    for (int i = 0; i < times; ++i)
      if (Adopted* const adopted = adoption->use(buffer, bytes)) return adopted;
    return nullptr;
  }
  bool is_adopted(std::byte* buffer, std::size_t bytes) {
    Adopted* const adopted = adoption->use(buffer, bytes);
    if (adopted != nullptr) adoption->done(adopted);
    return adopted != nullptr;
  }
  /// However long that takes: one may have been longer at this address, and given back in vain.
  void adopt(std::byte* buffer, std::size_t bytes) {
    Adopted* const adopted = come_back(buffer, bytes, 10'000'000);
    ASSERT_NE(adopted, nullptr);
    adoption->done(adopted);
  }
  /// What the heap's file has of memory.
  std::size_t heap_bytes() const {
    struct stat status{};
    const std::string file = "/proc/self/fd/" + std::to_string(heap->ticket().fd);
    EXPECT_EQ(stat(file.c_str(), &status), 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }
  /// What the kernel says of the process's memory: of what is shared, each mapping is counted.
  static std::size_t bytes_of(std::string_view what) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(what)) return std::stoul(line.substr(what.size())) << 10;
    return 0;
  }
  std::unique_ptr<Heap> heap;
  std::unique_ptr<Adoption> adoption;
};

int mappings_between(const std::byte* begin, const std::byte* end) {
  const Mappings mappings;
  int count = 0;
  for (auto at = reinterpret_cast<std::uintptr_t>(begin); at < reinterpret_cast<std::uintptr_t>(end); ++count) {
    const auto found = mappings.at(at);
    if (!found) break;
    at = found->end;
  }
  return count;
}

TEST_F(AdoptionTest, WhatComesBackLiesInTheHeapAndWhereItWas) {
  const Memory memory(megabyte);
  memory.fill(1);
  EXPECT_EQ(adoption->use(memory.data, megabyte), nullptr);  // once is not often
  Adopted* const adopted = come_back(memory.data, megabyte);
  ASSERT_NE(adopted, nullptr);
  EXPECT_TRUE(memory.is_filled(1));
  std::byte* const inside = adopted->in_heap(memory.data, megabyte);
  ASSERT_TRUE(heap->holds(inside) && heap->holds(inside + megabyte - 1));
  EXPECT_TRUE(Memory::holds(inside, 1, 0, megabyte));
  memory.fill(2);
  EXPECT_TRUE(Memory::holds(inside, 2, 0, megabyte));
  inside[5] = std::byte{99};
  EXPECT_EQ(memory.data[5], std::byte{99});
  EXPECT_EQ(adoption->adopted_bytes(), megabyte);
  adoption->done(adopted);
}

TEST_F(AdoptionTest, PricesAreMeasuredOnceThatMayPay) {
  const Memory memory(megabyte);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(adoption->use(memory.data, megabyte), nullptr);
  EXPECT_EQ(adoption->tally().spent, 0);
  adopt(memory.data, megabyte);
  EXPECT_GT(adoption->tally().spent, 0);
}

TEST_F(AdoptionTest, SaysWhatItDidAndWhatThatCost) {
  const Memory memory(megabyte), shared(megabyte, MAP_SHARED | MAP_ANONYMOUS);
  adopt(memory.data, megabyte);
  const AdoptionTally first = adoption->tally();
  EXPECT_EQ(first.buffers, 1u);
  EXPECT_EQ(first.bytes, megabyte);
  EXPECT_EQ(first.refused, 0u);
  EXPECT_EQ(first.uses, 0u);
  EXPECT_GT(first.spent, 0);
  EXPECT_EQ(first.saved, 0);
  EXPECT_TRUE(is_adopted(memory.data, megabyte));
  EXPECT_EQ(come_back(shared.data, megabyte, 1000), nullptr);
  const AdoptionTally second = adoption->tally();
  EXPECT_EQ(second.buffers, 1u);
  EXPECT_EQ(second.uses, 1u);
  EXPECT_GT(second.saved, 0);
  EXPECT_GT(second.refused, 0u);
  EXPECT_GT(second.spent, first.spent);
}

TEST_F(AdoptionTest, PeersSeeIt) {
  const Memory memory(megabyte);
  adopt(memory.data, megabyte);
  memory.fill(3);
  Adopted* const adopted = adoption->use(memory.data, megabyte);
  ASSERT_NE(adopted, nullptr);
  const auto address = reinterpret_cast<std::uint64_t>(adopted->in_heap(memory.data, megabyte));
  const HeapTicket ticket = heap->ticket();
  EXPECT_EQ(in_child([&] {
              const auto peer = PeerHeap::map(ticket);
              return peer && Memory::holds(peer->here(address, megabyte), 3, 0, megabyte) ? 0 : 1;
            }),
            0);
  adoption->done(adopted);
}

TEST_F(AdoptionTest, OnlyWholePagesAreAdoptedAndTheEndsAreBrought) {
  const Memory memory(megabyte);
  memory.fill(1);
  constexpr std::size_t before = 16, bytes = 300'000;
  std::byte* const buffer = memory.data + before;
  Adopted* const adopted = come_back(buffer, bytes);
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(adoption->adopted_bytes(), (before + bytes) / page * page - page);
  std::byte* const inside = adopted->in_heap(buffer, bytes);
  adopted->bring_ends(buffer, bytes);
  EXPECT_TRUE(Memory::holds(inside, 1, before, bytes));
  // What a peer has written comes back; what lies beside stays.
  for (std::size_t i = 0; i < bytes; ++i) inside[i] = std::byte{42};
  adopted->take_ends(buffer, bytes);
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(buffer[i], std::byte{42}) << i;
  EXPECT_TRUE(Memory::holds(memory.data, 1, 0, before));
  EXPECT_TRUE(Memory::holds(buffer + bytes, 1, before + bytes, megabyte - before - bytes));
  // Not more than a page on either side.
  EXPECT_NE(adopted->in_heap(memory.data + 1, page), nullptr);
  EXPECT_EQ(adopted->in_heap(memory.data, 2 * page), nullptr);
  EXPECT_EQ(adopted->in_heap(buffer, bytes + 2 * page), nullptr);
  adoption->done(adopted);
}

TEST_F(AdoptionTest, ShortBuffersAreLeftAlone) {
  const Memory memory(megabyte);
  EXPECT_EQ(come_back(memory.data, Adoption::min_bytes - 1), nullptr);
}

TEST_F(AdoptionTest, WhatIsMappedThereLaterIsNotTakenForIt) {
  Memory memory(megabyte);
  memory.fill(1);
  adopt(memory.data, megabyte);
  void* const again =
      mmap(memory.data, megabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_EQ(again, memory.data);
  memory.fill(2);
  EXPECT_FALSE(is_adopted(memory.data, megabyte));
  EXPECT_EQ(adoption->adopted_bytes(), 0u);
  EXPECT_LT(heap_bytes(), megabyte);  // its pages are the system's again
  EXPECT_TRUE(memory.is_filled(2));
  // One page in the middle is enough.
  adopt(memory.data, megabyte);
  mmap(memory.data + megabyte / 2, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  EXPECT_FALSE(is_adopted(memory.data, megabyte));
}

TEST_F(AdoptionTest, WhatTheProgramHasMovedStaysItsOwn) {
  const Memory memory(megabyte);
  memory.fill(1);
  adopt(memory.data, megabyte);
  const Memory elsewhere(megabyte);
  ASSERT_EQ(mremap(memory.data, megabyte, megabyte, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere.data), elsewhere.data);
  EXPECT_FALSE(is_adopted(memory.data, megabyte));
  // Whatever is taken from the heap now, it is not that memory.
  std::vector<void*> pieces;
  for (int i = 0; i < 100; ++i) {
    pieces.push_back(heap->take(megabyte));
    ASSERT_NE(pieces.back(), nullptr);
    std::memset(pieces.back(), 9, megabyte);
  }
  EXPECT_TRUE(elsewhere.is_filled(1));
  // A child gets a copy of it, too.
  EXPECT_EQ(in_child([&] {
              elsewhere.fill(7);
              return elsewhere.is_filled(7) ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(elsewhere.is_filled(1));
}

TEST_F(AdoptionTest, FreedBuffersAreFoundOut) {
  const Memory other(megabyte), third(megabyte);
  {
    const Memory memory(8 * megabyte);
    adopt(memory.data, memory.bytes);
    EXPECT_GE(heap_bytes(), memory.bytes);
  }
  adopt(other.data, megabyte);
  adopt(third.data, megabyte);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(is_adopted(other.data, megabyte));
  EXPECT_LT(heap_bytes(), 4 * megabyte);
  EXPECT_EQ(adoption->adopted_bytes(), 2 * megabyte);
}

TEST_F(AdoptionTest, DiscardedPagesAreZeroAndMovedOnesWhatTheyWere) {
  const Memory memory(megabyte);
  memory.fill(1);
  adopt(memory.data, megabyte);
  adoption->before_discard(memory.data + page, page);
  for (std::size_t i = 0; i < page; ++i) ASSERT_EQ(memory.data[page + i], std::byte{0});
  EXPECT_TRUE(Memory::holds(memory.data, 1, 0, page));
  EXPECT_TRUE(Memory::holds(memory.data + 2 * page, 1, 2 * page, megabyte - 2 * page));
  EXPECT_FALSE(is_adopted(memory.data, megabyte));
  // Without a word of it, the kernel would leave what was there.
  const Memory another(megabyte);
  another.fill(5);
  adopt(another.data, megabyte);
  madvise(another.data, megabyte, MADV_DONTNEED);
  EXPECT_TRUE(another.is_filled(5));
  adoption->before_move(another.data, megabyte);
  EXPECT_TRUE(another.is_filled(5));
  madvise(another.data, megabyte, MADV_DONTNEED);
  EXPECT_EQ(another.data[77], std::byte{0});
  // Of several mappings one is made.
  const Memory third(4 * megabyte);
  third.fill(6);
  adopt(third.data + megabyte, megabyte);
  EXPECT_EQ(mremap(third.data, 4 * megabyte, 8 * megabyte, MREMAP_MAYMOVE), MAP_FAILED);
  adoption->before_move(third.data, 4 * megabyte);
  void* const moved = mremap(third.data, 4 * megabyte, 8 * megabyte, MREMAP_MAYMOVE);
  ASSERT_NE(moved, MAP_FAILED);
  EXPECT_TRUE(Memory::holds(static_cast<std::byte*>(moved), 6, 0, 4 * megabyte));
  munmap(moved, 8 * megabyte);
}

TEST_F(AdoptionTest, DiscardedPagesAreTheSystemsAtOnce) {
  const Memory memory(8 * megabyte);
  memory.fill(1);
  adopt(memory.data, memory.bytes);
  EXPECT_GE(heap_bytes(), memory.bytes);
  adoption->before_discard(memory.data + megabyte, 4 * megabyte);
  EXPECT_LE(heap_bytes(), 4 * megabyte + 10 * page);
  adoption->before_discard(memory.data + 5 * megabyte + 1, 2 * megabyte);  // which the kernel refuses
  EXPECT_TRUE(Memory::holds(memory.data, 1, 0, megabyte));
  EXPECT_TRUE(Memory::holds(memory.data + 5 * megabyte, 1, 5 * megabyte, 3 * megabyte));
  adoption->before_discard(memory.data, memory.bytes);
  EXPECT_LE(heap_bytes(), 10 * page);
}

TEST_F(AdoptionTest, AForkedChildHasACopy) {
  const Memory memory(4 * megabyte);
  memory.fill(1);
  adopt(memory.data + 100, memory.bytes - 200);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    char go;
    if (read(ready[0], &go, 1) != 1) _exit(1);  // the parent has written to its own by now
    if (!memory.is_filled(1)) _exit(2);
    memory.fill(9);
    for (int i = 0; i < 100; ++i)
      if (adoption->use(memory.data + 100, memory.bytes - 200) != nullptr) _exit(3);
    _exit(0);
  }
  memory.fill(2);
  ASSERT_EQ(write(ready[1], "g", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  close(ready[0]);
  close(ready[1]);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(memory.is_filled(2));
  EXPECT_TRUE(is_adopted(memory.data + 100, memory.bytes - 200));
}

TEST_F(AdoptionTest, OnlyPrivateMemoryOfNoFileIsAdopted) {
  const Memory shared(megabyte, MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_EQ(come_back(shared.data, megabyte), nullptr);
  const int file = memfd_create("file", 0);
  ASSERT_EQ(ftruncate(file, megabyte), 0);
  const Memory of_file(megabyte, MAP_PRIVATE, file);
  close(file);
  EXPECT_EQ(come_back(of_file.data, megabyte), nullptr);
  const Memory constant(megabyte);
  mprotect(constant.data + megabyte / 2, page, PROT_READ);
  EXPECT_EQ(come_back(constant.data, megabyte), nullptr);
  const Memory gone(megabyte);
  munmap(gone.data + megabyte / 2, page);
  EXPECT_EQ(come_back(gone.data, megabyte), nullptr);
  std::byte on_stack[3 * Adoption::min_bytes];
  EXPECT_EQ(come_back(on_stack, sizeof on_stack), nullptr);
  std::thread([&] {
    std::byte on_its_stack[3 * Adoption::min_bytes];
    EXPECT_EQ(come_back(on_its_stack, sizeof on_its_stack), nullptr);
  }).join();
}

TEST_F(AdoptionTest, LockedMemoryKeepsItsPlace) {
  const Memory memory(megabyte), locked(page);
  // Not the function, which sanitizers make do nothing.
  if (syscall(SYS_mlock, locked.data, page) != 0) GTEST_SKIP() << "memory cannot be locked here";
  EXPECT_EQ(come_back(memory.data, megabyte), nullptr);
}

TEST_F(AdoptionTest, HugePagesStayHuge) {
  const Memory memory(8 * megabyte);
  if (madvise(memory.data, memory.bytes, MADV_HUGEPAGE) != 0) GTEST_SKIP() << "no huge pages here";
  memory.fill(1);
  FILE* const smaps = fopen("/proc/self/smaps", "r");
  std::size_t kilobytes = 0;
  for (char line[256]; fgets(line, sizeof line, smaps) != nullptr;) {
    std::size_t huge = 0;
    if (sscanf(line, "AnonHugePages: %zu", &huge) == 1) kilobytes += huge;
  }
  fclose(smaps);
  if (kilobytes < 6 * 1024) GTEST_SKIP() << "the kernel gave no huge pages";
  EXPECT_EQ(come_back(memory.data, memory.bytes), nullptr);
}

TEST_F(AdoptionTest, ABufferThatGrowsIsAdoptedAnew) {
  const Memory memory(4 * megabyte);
  memory.fill(1);
  adopt(memory.data, megabyte);
  Adopted* const first = adoption->use(memory.data, megabyte);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(come_back(memory.data, 2 * megabyte), nullptr);  // not while a call uses the first
  adoption->done(first);
  adopt(memory.data, 2 * megabyte);
  EXPECT_EQ(adoption->adopted_bytes(), 2 * megabyte);
  EXPECT_TRUE(memory.is_filled(1));
  EXPECT_TRUE(is_adopted(memory.data + megabyte, megabyte));
}

TEST_F(AdoptionTest, WhatGrowsStaysAdoptedWhereTheRestCannotBe) {
  const Memory memory(2 * megabyte);
  ASSERT_NE(
      mmap(memory.data + megabyte, megabyte, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
      MAP_FAILED);
  memory.fill(1);
  adopt(memory.data, megabyte);
  EXPECT_EQ(come_back(memory.data, 2 * megabyte, 1000), nullptr);
  EXPECT_GT(adoption->tally().refused, 0u);
  EXPECT_TRUE(is_adopted(memory.data, megabyte));
  EXPECT_TRUE(memory.is_filled(1));
}

TEST_F(AdoptionTest, WhatGrowsHasToComeBackAnew) {
  const Memory first(2 * megabyte), memory(4 * megabyte);
  adopt(first.data, 2 * megabyte);  // when no price is known
  int anew = 0;
  while (anew < 100000 && !is_adopted(memory.data, megabyte / 2)) ++anew;
  ASSERT_LT(anew, 100000);
  EXPECT_GT(anew, 0);
  for (std::size_t bytes = megabyte; bytes <= memory.bytes; bytes *= 2)
    for (int i = 0; i < anew / 4; ++i) ASSERT_FALSE(is_adopted(memory.data, bytes));
  adopt(memory.data, memory.bytes);
}

TEST_F(AdoptionTest, LengthsThatVaryDoNotKeepABufferFromIt) {
  const Memory memory(megabyte);
  bool adopted = false;
  for (int i = 0; i < 1000 && !adopted; ++i) adopted = is_adopted(memory.data, megabyte - 32 * i - 16);  // never longer
  EXPECT_TRUE(adopted);
}

TEST_F(AdoptionTest, WhatWasLongOnceIsAdoptedAtItsUsualLength) {
  const Memory memory(8 * megabyte);
  EXPECT_EQ(adoption->use(memory.data, memory.bytes), nullptr);
  adopt(memory.data, megabyte);
  EXPECT_EQ(adoption->adopted_bytes(), megabyte);
}

TEST_F(AdoptionTest, NothingIsTwiceInTheHeapAfterBuffersHaveGrown) {
  const Memory memory(8 * megabyte);
  memory.fill(1);
  for (std::size_t bytes = megabyte; bytes <= memory.bytes; bytes *= 2) adopt(memory.data, bytes);
  EXPECT_TRUE(memory.is_filled(1));
  EXPECT_EQ(adoption->adopted_bytes(), memory.bytes);
  EXPECT_LT(heap_bytes(), memory.bytes + megabyte);
}

TEST_F(AdoptionTest, BuffersByTurnsAreAdoptedWhereverTheyLie) {
  const auto place = [](const std::byte* buffer) {  // as the adoption's table has it, or finer
    return reinterpret_cast<std::uintptr_t>(buffer) / 64 * 0x9e3779b97f4a7c15 >> 58;
  };
  const Memory memory(32 * megabyte);
  std::vector<std::byte*> buffers{memory.data};
  for (std::size_t at = megabyte; buffers.size() < 3;
       at += place(memory.data + at) == place(memory.data) ? megabyte : 64)
    if (place(memory.data + at) == place(memory.data)) buffers.push_back(memory.data + at);
  int adopted = 0;
  for (int i = 0; i < 10000 && adopted < 3; ++i) {
    adopted = 0;
    for (std::byte* const buffer : buffers) adopted += is_adopted(buffer, megabyte / 2);
  }
  EXPECT_EQ(adopted, 3);
}

TEST_F(AdoptionTest, WhatLiesBesideABufferMayBeWrittenMeanwhile) {
  const Memory memory(3 * megabyte);
  std::atomic<int> lost{0};
  adopt(memory.data, 2 * megabyte);
  std::jthread writer([&](const std::stop_token& stop) {  // to what belongs to no call
    auto* const words = reinterpret_cast<volatile std::uint64_t*>(memory.data);
    for (std::uint64_t round = 1; !stop.stop_requested(); ++round) {
      for (std::size_t i = 0; i < page; ++i) words[i * 32] = round;
      for (std::size_t i = 0; i < page; ++i) lost += words[i * 32] != round;
    }
  });
  std::byte* const begin = memory.data + megabyte;
  constexpr std::size_t step = megabyte / 2;
  for (int i = 0; i < 20; ++i) {  // each time there is something adopted before the buffer, or behind it, too
    std::memset(begin, i, 4 * step);
    std::byte* const buffer = i % 2 == 0 ? begin : begin + step;
    adopt(buffer, 3 * step);
    for (std::size_t at = 0; at < 4 * step; at += page / 2) ASSERT_EQ(begin[at], std::byte(i)) << at << " in " << i;
    EXPECT_TRUE(is_adopted(memory.data, megabyte));  // still
    EXPECT_TRUE(i == 0 || is_adopted(i % 2 == 0 ? begin + 3 * step : begin, step));
  }
  EXPECT_LE(heap_bytes(), adoption->adopted_bytes() + 100 * page);
  writer.request_stop();
  writer.join();
  EXPECT_EQ(lost.load(), 0);
}

// As programs do that close all files that they did not open.
TEST_F(AdoptionTest, ClosedFilesAreNotMistakenForOthers) {
  const Memory before(megabyte), after(megabyte);
  before.fill(1);
  after.fill(2);
  adopt(before.data, megabyte);
  const int other = memfd_create("of the program", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(other, 256 * megabyte), 0);
  char letters[] = "it stays";
  for (int i = 0; i < 8; ++i) ASSERT_EQ(pwrite(other, letters, sizeof letters, i * page), sizeof letters);
  ASSERT_EQ(dup2(other, heap->ticket().fd), heap->ticket().fd);
  EXPECT_EQ(come_back(after.data, megabyte, 1000), nullptr);
  EXPECT_TRUE(after.is_filled(2));
  heap->give_back(heap->take(100), false);
  for (int i = 0; i < 8; ++i) {
    char found[sizeof letters] = "";
    EXPECT_EQ(pread(other, found, sizeof found, i * page), sizeof found);
    EXPECT_STREQ(found, letters);
  }
  EXPECT_TRUE(before.is_filled(1));
  EXPECT_EQ(in_child([&] { return before.is_filled(1) ? 0 : 1; }), 0);
  // Nor is there the file by which the kernel is asked.
  for (int fd = other + 1; --fd > 2;) {
    std::string name(100, '\0');
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), name.data(), name.size()) > 0 && name.find("/maps") != std::string::npos) close(fd);
  }
  is_adopted(before.data, megabyte);
  EXPECT_TRUE(before.is_filled(1));
  adoption->before_discard(before.data, megabyte);
  madvise(before.data, megabyte, MADV_DONTNEED);
  EXPECT_EQ(before.data[5], std::byte{0});
  close(other);
}

TEST_F(AdoptionTest, NothingIsAdoptedWhoseFateWouldNotBeTold) {
  const Memory memory(megabyte);
  const auto deaf = Adoption::make(*heap, [] { return false; });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(deaf->use(memory.data, megabyte), nullptr);
  EXPECT_GT(deaf->tally().refused, 0u);
}

TEST_F(AdoptionTest, WhoReadsABufferMeanwhileSeesNoDifference) {
  const Memory memory(2 * megabyte);
  memory.fill(1);
  std::atomic<int> wrong{0};
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      if (!memory.is_filled(1)) ++wrong;
  });
  for (int i = 0; i < 5; ++i) {
    adopt(memory.data, memory.bytes);
    adoption->before_move(memory.data, memory.bytes);
  }
  reader.request_stop();
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(AdoptionTest, ItIsResidentOnce) {
  const Memory memory(16 * megabyte);
  memory.fill(1);
  adopt(memory.data, megabyte);
  const std::size_t before = bytes_of("RssShmem:");
  adopt(memory.data, memory.bytes);
  EXPECT_LT(bytes_of("RssShmem:") - before, memory.bytes + megabyte);
}

// Limits: 128 MiB at most, 32 at least.
TEST_F(AdoptionTest, WhatIsNotUsedAnyMoreMakesRoomWhenACallHasIt) {
  constexpr std::size_t bytes = 16 * megabyte, enough = 9;
  std::vector<std::unique_ptr<Memory>> memories;
  std::size_t adopted = 0;
  for (unsigned i = 0; i < enough; ++i) {
    memories.push_back(std::make_unique<Memory>(bytes));
    memories[i]->fill(i);
    Adopted* const last = come_back(memories[i]->data, bytes, 10'000);
    if (last == nullptr) break;
    adoption->done(last);
    ++adopted;
  }
  ASSERT_GE(adopted, 2u);
  ASSERT_LT(adopted, enough);
  EXPECT_EQ(adoption->adopted_bytes(), adopted * bytes);  // nobody has touched what no call has
  EXPECT_FALSE(is_adopted(memories[0]->data, bytes));
  EXPECT_EQ(adoption->adopted_bytes(), (adopted - 1) * bytes);
  adopt(memories[adopted]->data, bytes);
  for (unsigned i = 0; i <= adopted; ++i) EXPECT_TRUE(memories[i]->is_filled(i)) << i;
}

TEST_F(AdoptionTest, WhatIsUsedByTurnsDoesNotDriveEachOtherOut) {
  constexpr std::size_t bytes = 16 * megabyte, some = 9;
  const Memory memory(some * bytes);
  std::uint64_t adopted = 0;
  for (int round = 0; round < 200; ++round)
    for (std::size_t i = 0; i < some; ++i) is_adopted(memory.data + i * bytes, bytes);
  adopted = adoption->tally().buffers;
  EXPECT_GE(adopted, 2u);
  EXPECT_LT(adopted, some);
}

TEST_F(AdoptionTest, ManyBuffersDoNotUseUpMappings) {
  constexpr int some = 600, most = 256;
  constexpr std::size_t bytes = megabyte / 8;
  const Memory memory(2 * some * bytes);
  for (int i = 0; i < some; ++i) {
    std::byte* const buffer = memory.data + 2 * i * bytes;
    std::memset(buffer, i, bytes);
    if (Adopted* const adopted = come_back(buffer, bytes, 10'000)) adoption->done(adopted);
    ASSERT_LE(adoption->adopted_bytes(), most * bytes);
  }
  EXPECT_LE(mappings_between(memory.data, memory.data + memory.bytes), 2 * some + 1);
  for (int i = 0; i < some; ++i)
    for (std::size_t at = 0; at < bytes; at += page / 2) ASSERT_EQ(memory.data[2 * i * bytes + at], std::byte(i)) << i;
}

TEST_F(AdoptionTest, WhatWasBoundToMemoryStaysThere) {
  const Memory memory(megabyte);
  const unsigned long nodes = 1;
  constexpr int bound = 2;
  if (syscall(SYS_mbind, memory.data + megabyte / 2, page, bound, &nodes, 64, 0) != 0) GTEST_SKIP() << "no NUMA here";
  EXPECT_EQ(come_back(memory.data, megabyte, 1000), nullptr);
}

TEST_F(AdoptionTest, ItLeavesOneMapping) {
  const Memory memory(16 * megabyte);
  memory.fill(1);
  adopt(memory.data + megabyte, 14 * megabyte);
  adoption.reset();
  EXPECT_TRUE(memory.is_filled(1));
  EXPECT_LE(mappings_between(memory.data, memory.data + memory.bytes), 3);
}

TEST_F(AdoptionTest, WhatWasFreedGoesBeforeMoreIsTaken) {
  const Memory other(megabyte);
  for (int i = 0; i < 4; ++i) {
    const Memory memory(8 * megabyte);
    adopt(memory.data, memory.bytes);
    EXPECT_LT(heap_bytes(), 10 * megabyte);
  }
  // The only one, too, though calls take others.
  for (int i = 0; i < 10; ++i) adoption->use(other.data, Adoption::min_bytes);
  EXPECT_LT(heap_bytes(), megabyte);
  // Many at once.
  constexpr std::size_t some = megabyte / 4;
  std::vector<std::unique_ptr<Memory>> many;
  for (int i = 0; i < 200; ++i) adopt(many.emplace_back(std::make_unique<Memory>(some))->data, some);
  EXPECT_GT(heap_bytes(), 10 * megabyte);
  many.clear();
  adopt(other.data, megabyte);
  EXPECT_LT(heap_bytes(), 2 * megabyte);
}

// As when glibc trims its heap, or makes a piece shorter: the library is not told.
TEST_F(AdoptionTest, WhatIsLeftOfABufferIsNotInTheWayOfTheNext) {
  const Memory memory(4 * megabyte);
  for (unsigned i = 0; i < 4; ++i) {
    memory.fill(i);
    adopt(memory.data, memory.bytes);
    void* const cut = memory.data + megabyte;
    ASSERT_EQ(mmap(cut, 3 * megabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), cut);
    EXPECT_FALSE(is_adopted(memory.data, memory.bytes));
    EXPECT_LT(heap_bytes(), 2 * megabyte);
    EXPECT_TRUE(Memory::holds(memory.data, i, 0, megabyte));
  }
}

TEST_F(AdoptionTest, WhatIsLeftOfABufferGoesOnceItIsFreed) {
  const Memory other(megabyte);
  for (int i = 0; i < 4; ++i) {
    const Memory memory(4 * megabyte);
    adopt(memory.data, memory.bytes);
    munmap(memory.data + 2 * megabyte, 2 * megabyte);
    EXPECT_FALSE(is_adopted(memory.data, 2 * megabyte));
  }
  adopt(other.data, megabyte);
  EXPECT_LT(heap_bytes(), 2 * megabyte);
}

TEST_F(AdoptionTest, DataStayWhereTheProcessMayHaveNoMoreMappings) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer itself needs mappings whenever the test allocates memory";
#endif
  std::size_t most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  if (most > 100000) GTEST_SKIP() << "a process may have " << most << " mappings";
  const Memory first(megabyte);
  adopt(first.data, megabyte);  // prices are known
  std::vector<std::unique_ptr<Memory>> buffers;
  for (unsigned i = 0; i < 6; ++i) buffers.emplace_back(std::make_unique<Memory>(4 * megabyte))->fill(i);
  auto* const begin =
      static_cast<std::byte*>(mmap(nullptr, 2 * most * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(begin, 2 * most * page);
  std::size_t count = 0;  // of single pages, each a mapping
  constexpr int there = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  while (mmap(begin + 2 * count * page, page, PROT_NONE, there, -1, 0) != MAP_FAILED) ++count;
  std::vector<bool> as_before;
  for (unsigned i = 0; i < buffers.size(); ++i) {
    come_back(buffers[i]->data + megabyte / 2, 3 * megabyte, 1000);
    as_before.push_back(buffers[i]->is_filled(i));
    munmap(begin + 2 * --count * page, page);
  }
  munmap(begin, 2 * most * page);
  EXPECT_EQ(as_before, std::vector<bool>(buffers.size(), true));
}

TEST_F(AdoptionTest, PagesThatComeBackKeepTheirProtection) {
  const auto protection = [](const std::byte* at) {
    const auto found = Mappings().at(reinterpret_cast<std::uintptr_t>(at));
    return found ? found->protection() : -1;
  };
  const Memory memory(megabyte);
  memory.fill(1);
  adopt(memory.data, megabyte);
  mprotect(memory.data, megabyte, PROT_READ);
  adoption->before_discard(memory.data, page);
  EXPECT_EQ(memory.data[5], std::byte{0});
  EXPECT_EQ(protection(memory.data), PROT_READ);
  adoption->before_move(memory.data, megabyte);
  EXPECT_TRUE(Memory::holds(memory.data + page, 1, page, megabyte - page));
  EXPECT_EQ(protection(memory.data + megabyte / 2), PROT_READ);
  EXPECT_EQ(mappings_between(memory.data, memory.data + megabyte), 1);
}

TEST_F(AdoptionTest, WhoWatchesPagesIsLeftAlone) {
  const auto watching = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
  if (watching < 0) GTEST_SKIP() << "no userfaultfd here";
  const Memory memory(megabyte);
  EXPECT_EQ(come_back(memory.data, megabyte, 1000), nullptr);
  close(watching);
  adopt(memory.data, megabyte);
}

TEST_F(AdoptionTest, LongFilesMayBeForbiddenMeanwhile) {
  const Memory memory(8 * megabyte);
  memory.fill(1);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit less{megabyte, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &less);
  EXPECT_EQ(come_back(memory.data, memory.bytes, 1000), nullptr);  // and no signal
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(memory.is_filled(1));
}

TEST_F(AdoptionTest, AForkedChildHasACopyThoughNoMoreFilesMayBeOpened) {
  const Memory memory(16 * megabyte);
  memory.fill(1);
  adopt(memory.data, memory.bytes);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const int highest = dup(0);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit less{static_cast<rlim_t>(highest) + 1, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &less);
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      char go;
      if (read(ready[0], &go, 1) != 1) _exit(1);
      _exit(memory.is_filled(i + 1) ? 0 : 2);
    }
    memory.fill(i + 2);
    EXPECT_EQ(write(ready[1], "g", 1), 1);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  setrlimit(RLIMIT_NOFILE, &before);
  for (const int file : {ready[0], ready[1], highest}) close(file);
}

ucontext_t before_fiber, fiber;
int child_said = 0;
void forks() {
  child_said = in_child([] { return 7; });
}

// As fibers have it, whose stacks a program allocates.
TEST_F(AdoptionTest, WhoForksMayHaveItsStackInAdoptedMemory) {
  const Memory memory(megabyte);
  adopt(memory.data, megabyte);
  ASSERT_EQ(getcontext(&fiber), 0);
  fiber.uc_stack.ss_sp = memory.data;
  fiber.uc_stack.ss_size = megabyte;
  fiber.uc_link = &before_fiber;
  makecontext(&fiber, forks, 0);
  ASSERT_EQ(swapcontext(&before_fiber, &fiber), 0);
  EXPECT_EQ(child_said, 7);
}

TEST_F(AdoptionTest, WhatForksCopyTooOftenBecomesPrivate) {
  const Memory memory(megabyte);
  memory.fill(1);
  adopt(memory.data, megabyte);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(in_child([] { return 0; }), 0);
  EXPECT_FALSE(is_adopted(memory.data, megabyte));
  EXPECT_EQ(adoption->adopted_bytes(), 0u);
  EXPECT_TRUE(memory.is_filled(1));
}

// It may be known to a device by now.
TEST_F(AdoptionTest, WhatWasLockedMeanwhileStaysWhereItIs) {
  const Memory memory(megabyte);
  adopt(memory.data, megabyte);
  if (syscall(SYS_mlock, memory.data, megabyte) != 0) GTEST_SKIP() << "memory cannot be locked here";
  for (int i = 0; i < 10; ++i) EXPECT_EQ(in_child([] { return 0; }), 0);
  EXPECT_TRUE(is_adopted(memory.data, megabyte));
}

TEST_F(AdoptionTest, ItLeavesNothing) {
  const Memory memory(megabyte), other(megabyte);
  memory.fill(1);
  adopt(memory.data, megabyte);
  adopt(other.data, megabyte);
  adoption.reset();
  EXPECT_TRUE(memory.is_filled(1));
  EXPECT_LT(heap_bytes(), megabyte);
  madvise(memory.data, megabyte, MADV_DONTNEED);
  EXPECT_EQ(memory.data[5], std::byte{0});
}

// A job's memory may be limited.
TEST_F(AdoptionTest, ItIsGivenBackWithoutMuchMoreMemory) {
  const Memory memory(64 * megabyte);
  memory.fill(1);
  adopt(memory.data + page, 32 * megabyte);
  adopt(memory.data + 40 * megabyte, 16 * megabyte);
  if (!(std::ofstream("/proc/self/clear_refs") << "5" << std::flush)) GTEST_SKIP() << "peaks are not known here";
  const std::size_t before = bytes_of("VmRSS:");
  adopt(memory.data + 32 * megabyte, 16 * megabyte);  // both have a part of it
  adoption.reset();
  EXPECT_LT(bytes_of("VmHWM:"), before + 8 * megabyte);
  EXPECT_TRUE(memory.is_filled(1));
}

TEST_F(AdoptionTest, LittleIsAdoptedWhereControlGroupsHaveLittle) {
  namespace fs = std::filesystem;
  constexpr int no_namespace = 77;
  struct Case {
    const char *group, *file;  // one of the process's groups; what says how much one that it is part of may have
  };
  for (const Case& c :
       {Case{"0::/job/step", "job/memory.max"}, {"5:memory:/job/step", "memory/memory.limit_in_bytes"}}) {
    const fs::path folder = testing::TempDir() + "groups." + std::to_string(getpid()), file = folder / c.file;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << 256 * megabyte << "\n";
    std::ofstream(folder / "own") << "1:cpu:/\n" << c.group << "\n";
    const int code = in_child([&] {
      const std::string own = "/proc/" + std::to_string(getpid()) + "/cgroup";
      if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount((folder / "own").c_str(), own.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
          mount(folder.c_str(), "/sys/fs/cgroup", nullptr, MS_BIND, nullptr) != 0)
        return no_namespace;
      std::string error;
      adoption.reset();  // which refers to the heap
      heap = Heap::make(256 * megabyte, error);
      adoption = Adoption::make(*heap, [] { return true; });
      const Memory little(2 * megabyte), much(8 * megabyte);
      if (come_back(much.data, much.bytes, 1000) != nullptr) return 1;
      return come_back(little.data, little.bytes) == nullptr ? 2 : 0;
    });
    fs::remove_all(folder);
    if (code == no_namespace) GTEST_SKIP() << "files of /proc cannot be replaced here";
    EXPECT_EQ(code, 0) << c.group;
  }
}

// Two endpoints of one segment, whose buffers come into heaps that both have mapped.
TEST_F(AdoptionTest, MessagesArriveWhicheverBuffersAreAdopted) {
  std::string error;
  const auto segment = Segment::in_process({2, 2, 64}, error);
  ASSERT_TRUE(segment) << error;
  Endpoint sender(segment, 0), reader(segment, 1);
  const auto other_heap = Heap::make(64 * megabyte, error);
  const auto other_adoption = Adoption::make(*other_heap, [] { return true; });
  std::vector<Access> access(2);
  access[0].heap = PeerHeap::map(heap->ticket());
  access[1].heap = PeerHeap::map(other_heap->ticket());
  sender.know_access(access);
  reader.know_access(access);
  sender.set_direct_copy_from(100, heap.get());
  reader.set_direct_copy_from(100, other_heap.get());
  sender.adopt_by(adoption.get());
  reader.adopt_by(other_adoption.get());

  const Memory from(megabyte), to(megabyte);
  constexpr std::size_t at = 1000, bytes = megabyte - 3000;
  const std::int32_t readers[] = {1};
  bool adopted_by_sender = false, adopted_by_reader = false;
  for (unsigned round = 0; round < 700; ++round) {
    from.fill(round);
    to.fill(round + 1);
    if (round >= 100) sender.use_buffer(from.data + at, bytes);
    if (round >= 200) reader.use_buffer(to.data + at, bytes);
    adopted_by_sender |= sender.left_something();
    adopted_by_reader |= reader.left_something();
    // Of the whole buffer, or of a part of it.
    const std::size_t start = round % 3 == 0 ? at : at + round * 100, length = round % 3 == 0 ? bytes : bytes / 2;
    Transfer out{}, in{};
    in.busy = round % 2 == 0;
    bool sent = false, received = false;
    for (int step = 0; step < 1'000'000 && !(sent && received); ++step) {
      if (!sent) sent = sender.send(readers, from.data + start, length, out);
      if (step % 5 == 4) in.busy = false;
      if (!received) received = reader.recv(0, to.data + start, length, in);
    }
    ASSERT_TRUE(sent && received);
    ASSERT_TRUE(Memory::holds(to.data + start, round, start, length)) << round;
    ASSERT_TRUE(Memory::holds(to.data, round + 1, 0, start)) << round;
    ASSERT_TRUE(Memory::holds(to.data + start + length, round + 1, start + length, megabyte - start - length)) << round;
    sender.done_with_buffers();
    reader.done_with_buffers();
    ASSERT_FALSE(sender.left_something() || reader.left_something());
  }
  EXPECT_TRUE(adopted_by_sender);
  EXPECT_TRUE(adopted_by_reader);
}

// An endpoint may ask for longer ones than all others.
TEST_F(AdoptionTest, EndpointsLeaveBuffersAloneThatAreTooShortForThem) {
  std::string error;
  const auto segment = Segment::in_process({2, 2, 64}, error);
  ASSERT_TRUE(segment) << error;
  Endpoint sender(segment, 0);
  const Memory memory(megabyte);
  memory.fill(0);
  sender.adopt_by(adoption.get(), megabyte);
  const auto adopts = [&](std::size_t bytes) {
    for (int i = 0; i < 1000 && !sender.left_something(); ++i) sender.use_buffer(memory.data, bytes);
    return sender.left_something();
  };
  EXPECT_FALSE(adopts(megabyte - 1));
  EXPECT_TRUE(adopts(megabyte));
  sender.done_with_buffers();
}

}  // namespace
}  // namespace omnes::shm
