// A heap hands out memory that other processes can map; a fork leaves it.
#include "transport/shm/heap/heap.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "in_child.hpp"
#include "transport/shm/endpoint.hpp"

namespace omnes::shm {
namespace {

constexpr std::size_t megabyte = 1 << 20, some = 64 * megabyte;

std::unique_ptr<Heap> heap_of(std::size_t bytes) {
  std::string error;
  auto heap = Heap::make(bytes, error);
  EXPECT_TRUE(heap) << error;
  return heap;
}

std::byte* take(Heap& heap, std::size_t bytes, std::size_t alignment = 1, bool zeroed = false) {
  return static_cast<std::byte*>(heap.take(bytes, alignment, zeroed));
}

bool all_are(const std::byte* data, std::size_t bytes, int value) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (data[i] != std::byte(value)) return false;
  return true;
}

TEST(Heap, PiecesHaveRoomAndAlignmentAndDoNotOverlap) {
  const auto heap = heap_of(some);
  std::mt19937 random(1);
  struct Piece {
    std::byte* data;
    std::size_t bytes;
    int value;
  };
  std::vector<Piece> pieces;
  for (int step = 0; step < 2000; ++step) {
    if (pieces.size() > 20 || (!pieces.empty() && random() % 3 == 0)) {
      const std::size_t i = random() % pieces.size();
      ASSERT_TRUE(all_are(pieces[i].data, pieces[i].bytes, pieces[i].value));
      heap->give_back(pieces[i].data);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const std::size_t bytes = 1 + random() % (200 * 1024), alignment = std::size_t{1} << random() % 18;
    const bool zeroed = random() % 2 == 0;
    std::byte* const data = take(*heap, bytes, alignment, zeroed);
    ASSERT_NE(data, nullptr);
    ASSERT_TRUE(heap->holds(data) && heap->holds(data + bytes - 1));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0u);
    ASSERT_GE(heap->room(data), bytes);
    if (zeroed) {
      ASSERT_TRUE(all_are(data, bytes, 0));
    }
    const int value = 1 + static_cast<int>(random() % 255);
    std::memset(data, value, bytes);
    pieces.push_back({data, bytes, value});
  }
}

TEST(Heap, IsWholeAgainWhenEverythingIsGivenBack) {
  const auto heap = heap_of(some);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::byte*> pieces;
    while (std::byte* piece = take(*heap, megabyte)) pieces.push_back(piece);
    EXPECT_EQ(pieces.size(), some / megabyte - 1);  // the first page is the heap's own
    for (std::size_t i = 0; i < pieces.size(); i += 2) heap->give_back(pieces[i]);
    for (std::size_t i = 1; i < pieces.size(); i += 2) heap->give_back(pieces[i]);
  }
  EXPECT_NE(take(*heap, some - megabyte), nullptr);
}

TEST(Heap, HasNoMoreThanItHas) {
  const auto heap = heap_of(megabyte);
  EXPECT_EQ(take(*heap, 2 * megabyte), nullptr);
  EXPECT_EQ(take(*heap, ~std::size_t{0}), nullptr);
  std::string error;
  EXPECT_EQ(Heap::make(0, error), nullptr);
  EXPECT_EQ(error, "cannot make a heap that peers can map: address space or memory is limited");
}

TEST(Heap, IsNotMadeWhereLimitsAreSet) {
  EXPECT_GT(Heap::usual_bytes(), some);
  for (const auto limited : {RLIMIT_AS, RLIMIT_FSIZE}) {
    const int code = in_child([&] {
      const rlimit limit{std::size_t{1} << 40, std::size_t{1} << 40};
      return setrlimit(limited, &limit) == 0 && Heap::usual_bytes() == 0 ? 0 : 1;
    });
    EXPECT_EQ(code, 0);
  }
}

// Where a page that cannot be had would be a signal.
TEST(Heap, IsNotMadeWhereAllMemoryIsCounted) {
  constexpr int no_namespace = 77;
  const std::string file = testing::TempDir() + "overcommit." + std::to_string(getpid());
  std::ofstream(file) << "2\n";
  const int code = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(file.c_str(), "/proc/sys/vm/overcommit_memory", nullptr, MS_BIND, nullptr) != 0)
      return no_namespace;
    return Heap::usual_bytes() == 0 ? 0 : 1;
  });
  std::remove(file.c_str());
  if (code == no_namespace) GTEST_SKIP() << "files of /proc cannot be replaced here";
  EXPECT_EQ(code, 0);
}

TEST(Heap, WhatPeersMapIsTheSameMemory) {
  const auto heap = heap_of(some);
  std::byte* const data = take(*heap, megabyte);
  const auto peer = PeerHeap::map(heap->ticket());
  ASSERT_TRUE(peer);
  const auto address = reinterpret_cast<std::uint64_t>(data);
  std::memset(data, 7, megabyte);
  std::byte* const here = peer->here(address, megabyte);
  ASSERT_NE(here, nullptr);
  EXPECT_NE(here, data);
  EXPECT_TRUE(all_are(here, megabyte, 7));
  std::memset(here, 8, megabyte);
  EXPECT_TRUE(all_are(data, megabyte, 8));

  const std::uint64_t start = heap->ticket().address;
  EXPECT_EQ(peer->here(start - 1, 1), nullptr);
  EXPECT_EQ(peer->here(start + some, 1), nullptr);
  EXPECT_EQ(peer->here(start + some - 8, 16), nullptr);
  EXPECT_EQ(peer->here(start, some + 1), nullptr);
  EXPECT_NE(peer->here(start, some), nullptr);
}

TEST(Heap, AnotherProcessReadsIt) {
  const auto heap = heap_of(some);
  std::byte* const data = take(*heap, megabyte);
  std::memset(data, 7, megabyte);
  const HeapTicket ticket = heap->ticket();
  EXPECT_EQ(in_child([&] {
              const auto peer = PeerHeap::map(ticket);
              if (!peer) return 1;
              return all_are(peer->here(reinterpret_cast<std::uint64_t>(data), megabyte), megabyte, 7) ? 0 : 2;
            }),
            0);
}

/// Bytes of the mappings of heaps, and of those that are part of core dumps.
struct Shown {
  std::size_t mapped = 0, dumped = 0;
};
Shown mappings_of_heaps() {
  Shown shown;
  std::size_t bytes = 0;  // of the mapping that the lines are about
  std::ifstream file("/proc/self/smaps");
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin = 0, end = 0;
    char path[100] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %*s %99s", &begin, &end, path) >= 2)
      bytes = std::string_view(path) == "/memfd:omnes-heap" ? end - begin : 0;
    shown.mapped += line.starts_with("VmFlags:") ? bytes : 0;
    shown.dumped += line.starts_with("VmFlags:") && line.find(" dd") == std::string::npos ? bytes : 0;
  }
  return shown;
}

TEST(Heap, NoMoreIsMappedThanWasNeeded) {
  const auto heap = heap_of(100 * some);
  const auto peer = PeerHeap::map(heap->ticket());
  EXPECT_LE(mappings_of_heaps().mapped, 8 * megabyte);
  std::byte* const first = take(*heap, 30 * megabyte);
  std::byte* const second = take(*heap, 30 * megabyte);
  std::memset(second, 7, 30 * megabyte);
  EXPECT_TRUE(all_are(peer->here(reinterpret_cast<std::uintptr_t>(second), 30 * megabyte), 30 * megabyte, 7));
  heap->give_back(second);
  heap->give_back(first);
  EXPECT_LE(mappings_of_heaps().mapped, 136 * megabyte);
}

TEST(Heap, ItGrowsThoughTheProgramMapsAsMuch) {
  const auto heap = heap_of(some);
  std::vector<void*> others;
  for (int i = 0; i < 60; ++i) {
    others.push_back(mmap(nullptr, megabyte, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_FALSE(heap->holds(others.back()));
  }
  std::byte* const data = take(*heap, some - megabyte);
  ASSERT_NE(data, nullptr);
  std::memset(data, 7, some - megabyte);
  for (void* const other : others) munmap(other, megabyte);
}

// As a program may do with what MPI_Alloc_mem gives it.
TEST(Heap, ItGrowsThoughItsLastPageIsProtected) {
  const auto heap = heap_of(some);
  std::byte* const data = take(*heap, 4 * megabyte - page_bytes);
  mprotect(data + 4 * megabyte - 2 * page_bytes, page_bytes, PROT_NONE);
  std::byte* const more = take(*heap, megabyte);
  ASSERT_NE(more, nullptr);
  std::memset(more, 7, megabyte);
}

/// From now on the program may not have more addresses than it has, but for some.
bool limit_address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{pages * page_bytes + some, RLIM_INFINITY};
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

TEST(Heap, NoneOfTheAddressesThatAProgramLimitsAreTakenFromIt) {
  const auto heap = heap_of(100 * some);
  const auto peer = PeerHeap::map(heap->ticket());
  std::byte* const data = take(*heap, 20 * megabyte);
  std::memset(data, 7, 20 * megabyte);
  const auto address = reinterpret_cast<std::uint64_t>(data);
  EXPECT_EQ(in_child([&] {
              if (!limit_address_space()) return 1;
              if (peer->here(address, 20 * megabyte) != nullptr) return 2;
              const std::size_t before = mappings_of_heaps().mapped;
              std::vector<std::byte> copy(megabyte);
              if (!peer->read(address + 5, copy.data(), megabyte) || !all_are(copy.data(), megabyte, 7)) return 3;
              if (peer->read(address - 2 * megabyte, copy.data(), megabyte)) return 4;
              return mappings_of_heaps().mapped == before ? 0 : 5;
            }),
            0);
}

TEST(Heap, OnlyItsOwnerDumpsWhatWasNeeded) {
  const auto heap = heap_of(100 * some);
  const auto peer = PeerHeap::map(heap->ticket());
  std::byte* const data = take(*heap, 60 * megabyte);
  ASSERT_NE(peer->here(reinterpret_cast<std::uintptr_t>(data), 60 * megabyte), nullptr);
  const std::size_t dumped = mappings_of_heaps().dumped;
  EXPECT_LE(dumped, 68 * megabyte);
  EXPECT_GE(dumped, 60 * megabyte);
}

TEST(Heap, WrongTicketsAreRefused) {
  const auto heap = heap_of(megabyte);
  for (const auto spoil : std::vector<void (*)(HeapTicket&)>{
           [](HeapTicket& t) { t.nonce += 1; }, [](HeapTicket& t) { t.bytes += page_bytes; },
           [](HeapTicket& t) { t.fd = 999; }, [](HeapTicket& t) { t.pid = 0; }, [](HeapTicket& t) { t = {}; }}) {
    HeapTicket ticket = heap->ticket();
    spoil(ticket);
    EXPECT_EQ(PeerHeap::map(ticket), nullptr);
  }
}

TEST(Heap, AForkedChildHasACopy) {
  const auto heap = heap_of(some);
  std::byte* const small = take(*heap, 100);
  std::byte* const large = take(*heap, 8 * megabyte);
  std::byte* const untouched = take(*heap, 8 * megabyte);
  std::memset(small, 1, 100);
  std::memset(large + megabyte, 2, megabyte);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    char go;
    if (read(ready[0], &go, 1) != 1) _exit(1);  // the parent has written to its own by now
    if (!all_are(small, 100, 1) || !all_are(large, megabyte, 0) || !all_are(large + megabyte, megabyte, 2)) _exit(2);
    std::memset(small, 9, 100);
    std::memset(untouched, 9, megabyte);
    if (take(*heap, 100) != nullptr || heap->ticket().bytes != 0) _exit(3);
    heap->give_back(large);
    _exit(0);
  }
  std::memset(small, 3, 100);
  std::memset(large, 3, 2 * megabyte);
  ASSERT_EQ(write(ready[1], "g", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  close(ready[0]);
  close(ready[1]);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(all_are(small, 100, 3));
  EXPECT_TRUE(all_are(untouched, megabyte, 0));
  heap->give_back(small);
  EXPECT_NE(take(*heap, 100), nullptr);
}

TEST(Heap, GrandchildrenAndThreadsAreSafe) {
  const auto heap = heap_of(some);
  std::byte* const data = take(*heap, 1000);
  std::memset(data, 5, 1000);
  std::thread busy([&] {
    for (int i = 0; i < 300; ++i) {
      std::byte* const piece = take(*heap, 50'000);
      ASSERT_NE(piece, nullptr);
      piece[0] = std::byte{1};
      heap->give_back(piece);
    }
  });
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(in_child([&] { return in_child([&] { return all_are(data, 1000, 5) ? 0 : 1; }); }), 0);
  busy.join();
}

// Where a heap has not come yet, a program may have something of its own.
TEST(Heap, WhatLiesBehindItIsNotTakenForIt) {
  std::string error;
  const auto segment = Segment::in_process({2, 2, 64}, error);
  Endpoint sender(segment, 0), reader(segment, 1);
  const std::unique_ptr<Heap> heaps[] = {heap_of(some), heap_of(some)};
  std::vector<Access> access(2);
  std::byte* buffers[2];
  for (int rank = 0; rank < 2; ++rank) {
    access[rank] = {getpid(), PeerHeap::map(heaps[rank]->ticket())};
    auto* const behind = reinterpret_cast<std::byte*>(heaps[rank]->ticket().address) + some / 2;
    buffers[rank] = static_cast<std::byte*>(
        mmap(behind, megabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    ASSERT_EQ(buffers[rank], behind);
  }
  sender.know_access(access);
  reader.know_access(access);
  sender.set_direct_copy_from(100, heaps[0].get());
  reader.set_direct_copy_from(100, heaps[1].get());
  sender.set_single_copy_from(100);
  const std::int32_t readers[] = {1};
  for (const bool busy : {false, true}) {  // pushed as a whole, or in part
    std::memset(buffers[0], 5 + busy, megabyte);
    Transfer out{}, in{};
    in.busy = busy;
    bool sent = false, received = false;
    for (int step = 0; step < 100'000 && !(sent && received); ++step) {
      if (!received) received = reader.recv(0, buffers[1], megabyte, in);
      if (!sent) sent = sender.send(readers, buffers[0], megabyte, out);
    }
    EXPECT_TRUE(sent && received);
    EXPECT_TRUE(all_are(buffers[1], megabyte, 5 + busy));
  }
  for (std::byte* const buffer : buffers) munmap(buffer, megabyte);
}

// Two endpoints of one segment whose buffers lie in heaps that both have mapped.
class Direct : public testing::TestWithParam<std::tuple<std::size_t, bool, bool>> {};

TEST_P(Direct, MessagesArriveWhetherTheirBuffersLieInAHeapOrNot) {
  const auto [bytes, source_in_heap, into_in_heap] = GetParam();
  std::string error;
  const auto segment = Segment::in_process({2, 2, 64}, error);
  Endpoint sender(segment, 0), reader(segment, 1);
  std::unique_ptr<Heap> heaps[] = {heap_of(some), heap_of(some)};
  std::vector<Access> access(2);
  for (int rank = 0; rank < 2; ++rank) access[rank].heap = PeerHeap::map(heaps[rank]->ticket());
  sender.know_access(access);
  reader.know_access(access);
  sender.set_direct_copy_from(100, heaps[0].get());
  reader.set_direct_copy_from(100, heaps[1].get());

  std::vector<std::byte> plain(bytes), plain_into(bytes + 1);
  std::byte* const source = source_in_heap ? take(*heaps[0], bytes) : plain.data();
  std::byte* const into = into_in_heap ? take(*heaps[1], bytes + 1) : plain_into.data();
  for (std::size_t i = 0; i < bytes; ++i) source[i] = std::byte(i * 7 + i / 251);
  const std::int32_t readers[] = {1};

  for (const bool published : {false, true}) {
    std::memset(into, 0, bytes + 1);
    Transfer out{}, in{};
    bool sent = false, received = false;
    for (int step = 0; step < 100'000 && !(sent && received); ++step) {
      if (!sent) sent = published ? sender.publish(source, bytes, out) : sender.send(readers, source, bytes, out);
      if (!received) received = published ? reader.recv_published(0, into, bytes, in) : reader.recv(0, into, bytes, in);
    }
    ASSERT_TRUE(sent && received);
    EXPECT_EQ(std::memcmp(source, into, bytes), 0);
    EXPECT_EQ(into[bytes], std::byte{0});
  }

  // Through a sink it comes in one piece, straight from where it lies.
  Transfer out{}, in{};
  std::vector<std::pair<const void*, std::size_t>> seen;
  const Sink sink{[](void* context, std::size_t, const void* data, std::size_t n) {
                    static_cast<decltype(seen)*>(context)->push_back({data, n});
                  },
                  &seen};
  bool sent = false, received = false;
  for (int step = 0; step < 100'000 && !(sent && received); ++step) {
    if (!sent) sent = sender.send(readers, source, bytes, out);
    if (!received) received = reader.recv(0, sink, bytes, in);
  }
  ASSERT_TRUE(sent && received);
  if (source_in_heap) {
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].first, access[0].heap->here(reinterpret_cast<std::uint64_t>(source), bytes));
  }
  EXPECT_FALSE(reader.mismatch());

  // A receiver that expects less gets what it has room for, and blame.
  out = in = {};
  sent = received = false;
  std::memset(into, 0, bytes);
  for (int step = 0; step < 100'000 && !(sent && received); ++step) {
    if (!sent) sent = sender.send(readers, source, bytes, out);
    if (!received) received = reader.recv(0, into, bytes / 2, in);
  }
  ASSERT_TRUE(sent && received);
  EXPECT_EQ(std::memcmp(source, into, bytes / 2), 0);
  EXPECT_EQ(into[bytes / 2], std::byte{0});
  EXPECT_TRUE(reader.take_mismatch());
}

INSTANTIATE_TEST_SUITE_P(Heap, Direct,
                         testing::Combine(testing::Values(std::size_t{100}, std::size_t{5000}, std::size_t{100'001}),
                                          testing::Bool(), testing::Bool()));

}  // namespace
}  // namespace omnes::shm
