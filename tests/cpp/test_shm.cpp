// Endpoints of one segment, driven step by step or by threads: messages of all sizes, sets, publishes, full queues,
// wrapping numbers.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/processor.hpp"
#include "topology/whereabouts.hpp"
#include "transport/shm/copy.hpp"
#include "transport/shm/endpoint.hpp"
#include "transport/shm/policy.hpp"
#include "transport/shm/sleepers.hpp"

namespace omnes::shm {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(seed * 31 + i + (i >> 8));
  return data;
}

// All endpoints of a segment in this process.
class Ranks {
 public:
  explicit Ranks(const Geometry& geometry, std::uint32_t first = 0) {
    std::string error;
    auto segment = Segment::in_process(geometry, error);
    for (int rank = 0; rank < geometry.p; ++rank)
      endpoints_.push_back(std::make_unique<Endpoint>(segment, rank, first));
  }
  void allow_single_copy(std::size_t from) {
    for (auto& endpoint : endpoints_) {
      endpoint->probe_single_copy();
      endpoint->set_single_copy_from(from);
    }
  }
  Endpoint& operator[](int rank) { return *endpoints_[rank]; }

 private:
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

// Some containers forbid process_vm_readv, and qemu lacks it.
bool single_copies_work() {
  static const bool work = [] {
    Ranks ranks(Geometry{2, 4, 4096});
    ranks[0].probe_single_copy();
    return ranks[0].single_copy_peers() == 1;
  }();
  return work;
}
constexpr const char* no_single_copies = "one process may not read another's memory here";

std::vector<bool> with_and_without_single_copies() {
  return single_copies_work() ? std::vector{false, true} : std::vector{false};
}

class SingleCopies : public testing::Test {
 protected:
  void SetUp() override {
    if (!single_copies_work()) GTEST_SKIP() << no_single_copies;
  }
};

// A message in flight at its sender or receiver; step() moves it and says whether it is complete.
struct Sending {
  Endpoint& endpoint;
  std::vector<std::int32_t> readers;  // empty: publish
  Bytes data;
  bool from_source = false;
  Transfer transfer{};
  bool complete = false;

  static void write(void* context, std::size_t offset, std::byte* to, std::size_t bytes) {
    const auto& self = *static_cast<Sending*>(context);
    ASSERT_LE(offset + bytes, self.data.size());
    std::memcpy(to, self.data.data() + offset, bytes);
  }
  bool step() {
    if (complete) return true;
    if (from_source) {
      const Source source{write, this};
      complete = readers.empty() ? endpoint.publish(source, data.size(), transfer)
                                 : endpoint.send(readers, source, data.size(), transfer);
    } else {
      complete = readers.empty() ? endpoint.publish(data.data(), data.size(), transfer)
                                 : endpoint.send(readers, data.data(), data.size(), transfer);
    }
    return complete;
  }
};

struct Receiving {
  Endpoint& endpoint;
  int from;
  bool published;
  bool through_sink;
  Bytes data;
  Transfer transfer{};
  bool complete = false;
  bool aligned = true;  // sink: fragments are where and as long as promised

  static void append(void* context, std::size_t offset, const void* data, std::size_t bytes) {
    auto& self = *static_cast<Receiving*>(context);
    self.aligned = self.aligned && offset % 16 == 0 && reinterpret_cast<std::uintptr_t>(data) % 8 == 0;
    std::memcpy(self.data.data() + offset, data, bytes);
  }
  bool step() {
    if (complete) return true;
    if (through_sink) {
      const Sink sink{append, this};
      complete = published ? endpoint.recv_published(from, sink, data.size(), transfer)
                           : endpoint.recv(from, sink, data.size(), transfer);
    } else {
      complete = published ? endpoint.recv_published(from, data.data(), data.size(), transfer)
                           : endpoint.recv(from, data.data(), data.size(), transfer);
    }
    return complete;
  }
};

constexpr int enough = 100'000;  // steps that any of the messages here needs at most, stalls included

template <class First, class... Others>
bool drive_until_first(First& first, Others&... others) {
  for (int i = 0; i < enough && !first.step(); ++i) (others.step(), ...);
  return first.complete;
}

template <class... Moving>
bool drive(Moving&... moving) {
  for (int i = 0; i < enough; ++i) {
    bool all = true;
    ((all = moving.step() && all), ...);
    if (all) return true;
  }
  return false;
}

constexpr std::size_t f = 256;  // bytes in the slots of these tests
// Sequence numbers that wrap soon, but after each ring's first lap: lines that were never written show number 0.
constexpr std::uint32_t nearly_wrapping = 0U - 2 * static_cast<std::uint32_t>(max_pair_lines);
const std::size_t sizes[] = {0,  1,  3,  4,  7,  8,     9, 15,    16,    17,        31,
                             32, 33, 55, 56, 57, f - 1, f, f + 1, 2 * f, 50 * f + 3};

struct Mode {
  const char* name;
  bool published, through_sink, single_copy, from_source = false;
};

class MessageTest : public testing::TestWithParam<Mode> {};

TEST_P(MessageTest, ArrivesAtAnySizeAndNumber) {
  const Mode& mode = GetParam();
  if (mode.single_copy && !single_copies_work()) GTEST_SKIP() << no_single_copies;
  for (const std::uint32_t first : {0U, nearly_wrapping}) {
    Ranks ranks(Geometry{3, 4, f}, first);
    if (mode.single_copy) ranks.allow_single_copy(1);
    unsigned seed = 0;
    for (int round = 0; round < 8; ++round)
      for (const std::size_t bytes : sizes) {
        Sending out{ranks[1], {}, pattern(bytes, ++seed), mode.from_source};
        if (!mode.published) out.readers = {0, 2};
        Receiving in0{ranks[0], 1, mode.published, mode.through_sink, Bytes(bytes)};
        Receiving in2{ranks[2], 1, mode.published, mode.through_sink, Bytes(bytes)};
        ASSERT_TRUE(drive(out, in0, in2)) << bytes;
        ASSERT_EQ(in0.data, out.data) << bytes;
        ASSERT_EQ(in2.data, out.data) << bytes;
        ASSERT_TRUE(in0.aligned && in2.aligned) << bytes;
        if (bytes <= inline_bytes) continue;
        ASSERT_EQ(out.transfer.posted(), mode.single_copy && !mode.from_source) << bytes;
      }
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_FALSE(ranks[rank].mismatch());
      EXPECT_EQ(ranks[rank].copy_error(), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, MessageTest,
    testing::Values(Mode{"set", false, false, false}, Mode{"set_sink", false, true, false},
                    Mode{"published", true, false, false}, Mode{"published_sink", true, true, false},
                    Mode{"set_single", false, false, true}, Mode{"set_single_sink", false, true, true},
                    Mode{"published_single", true, false, true}, Mode{"published_single_sink", true, true, true},
                    Mode{"set_source", false, false, false, true}, Mode{"published_source", true, true, false, true},
                    Mode{"set_source_single", false, true, true, true}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Endpoint, BuffersExactlyARing) {
  for (const std::uint32_t first : {0U, nearly_wrapping}) {
    const Geometry geometry{2, 8, f};
    Ranks ranks(geometry, first);
    const std::int32_t to_one[] = {1};
    std::uint64_t value = 0, got = 0;
    const auto send = [&] {
      Transfer transfer;
      return ranks[0].send(to_one, &value, sizeof value, transfer);
    };
    const auto publish = [&] {
      Transfer transfer;
      return ranks[0].publish(&value, sizeof value, transfer);
    };
    for (int lap = 0; lap < 3; ++lap) {
      for (value = 0; value < geometry.pair_lines(); ++value) ASSERT_TRUE(send());
      ASSERT_FALSE(send());
      for (value = 0; value < publish_lines; ++value) ASSERT_TRUE(publish());
      ASSERT_FALSE(publish());
      for (std::uint64_t i = 0; i < geometry.pair_lines(); ++i) {
        Transfer transfer;
        ASSERT_TRUE(ranks[1].recv(0, &got, sizeof got, transfer));
        ASSERT_EQ(got, i);
      }
      for (std::uint64_t i = 0; i < publish_lines; ++i) {
        Transfer transfer;
        ASSERT_TRUE(ranks[1].recv_published(0, &got, sizeof got, transfer));
        ASSERT_EQ(got, i);
      }
      Transfer transfer;
      ASSERT_FALSE(ranks[1].recv(0, &got, sizeof got, transfer));
      ASSERT_FALSE(ranks[1].recv_published(0, &got, sizeof got, transfer));
    }
  }
}

TEST_F(SingleCopies, BuffersFragmentsButNotSingleCopies) {
  Ranks ranks(Geometry{2, 8, f});
  Sending buffered{ranks[0], {1}, pattern(3 * f, 1)};
  EXPECT_TRUE(buffered.step());
  ranks.allow_single_copy(f);
  Sending single{ranks[0], {1}, pattern(3 * f, 2)};
  EXPECT_FALSE(single.step());
  EXPECT_TRUE(single.transfer.posted());
  Sending next{ranks[0], {1}, pattern(8, 3)};  // the channel is free once the message before it is posted
  EXPECT_TRUE(next.step());
  Receiving first{ranks[1], 0, false, false, Bytes(3 * f)}, second{ranks[1], 0, false, false, Bytes(3 * f)},
      third{ranks[1], 0, false, false, Bytes(8)};
  EXPECT_TRUE(first.step());
  EXPECT_FALSE(single.step());
  EXPECT_TRUE(second.step());
  EXPECT_TRUE(single.step());
  EXPECT_TRUE(third.step());
  EXPECT_EQ(second.data, single.data);
  EXPECT_EQ(third.data, next.data);
}

constexpr std::size_t shared = 100'000;  // bytes of a message whose copying both sides share

// New pages cost more than copies.
TEST(Endpoint, TakesUsedSlotsBeforeNewOnes) {
  constexpr int slots = 64;
  constexpr std::size_t slot_bytes = 32768;
  std::string error;
  const auto segment = Segment::in_process({2, slots, slot_bytes}, error);
  ASSERT_NE(segment, nullptr) << error;
  Endpoint writer(segment, 0), reader(segment, 1);
  const auto touched = [&] {
    int count = 0;
    for (int slot = 0; slot < slots; ++slot) {
      unsigned char resident = 0;
      EXPECT_EQ(mincore(segment->layout().slot(0, slot), page_bytes, &resident), 0);
      count += resident & 1;
    }
    return count;
  };
  const auto at_once = [&](int messages) {
    std::vector<Sending> sent;
    for (int i = 0; i < messages; ++i) sent.push_back({writer, {1}, pattern(slot_bytes, static_cast<unsigned>(i))});
    for (Sending& one : sent) EXPECT_TRUE(one.step());
    for (Sending& one : sent) {
      Receiving got{reader, 0, false, false, Bytes(slot_bytes)};
      EXPECT_TRUE(got.step());
      EXPECT_EQ(got.data, one.data);
    }
  };
  for (int i = 0; i < 3 * slots; ++i) at_once(1);
  EXPECT_LE(touched(), 2);
  at_once(slots);
  EXPECT_EQ(touched(), slots);
}

TEST(Endpoint, HasThePagesThatItTouchedFirst) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer's shadow of the data has page faults of its own, four times as many";
#endif
  constexpr std::size_t bytes = 256 * 1024, slot = 32 * 1024;
  constexpr long pages = bytes / page_bytes;
  const Bytes data = pattern(bytes, 1);
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  for (const bool touches : {false, true}) {
    Ranks ranks(Geometry{2, 64, slot});
    if (touches) ranks[0].touch_slots(bytes);
    Transfer transfer;
    const std::int32_t to = 1;
    const long before = faults();
    ASSERT_TRUE(ranks[0].send({&to, 1}, data.data(), data.size(), transfer));
    const long needed = faults() - before;
    if (touches)
      EXPECT_LT(needed, pages / 2);  // control lines
    else
      EXPECT_GE(needed, pages);
  }
  Ranks few(Geometry{2, 2, 64});
  few[0].touch_slots(bytes);  // no more than there are
}

TEST_F(SingleCopies, LetsTheSenderCopyAllForABusyReader) {
  Ranks ranks(Geometry{2, 8, f});
  ranks.allow_single_copy(f);
  Sending out{ranks[0], {1}, pattern(shared, 1)};
  Receiving in{ranks[1], 0, false, false, Bytes(shared)};
  in.transfer.busy = true;
  EXPECT_FALSE(out.step());
  EXPECT_FALSE(in.step());
  EXPECT_EQ(in.data, Bytes(shared));
  EXPECT_FALSE(out.step());  // copies; the reader has not heard of it yet
  EXPECT_EQ(in.data, out.data);
  EXPECT_TRUE(in.step());
  EXPECT_TRUE(out.step());
}

TEST_F(SingleCopies, CopiesAloneWhereTheSenderDoesNot) {
  for (const bool busy : {false, true}) {
    Ranks ranks(Geometry{2, 8, f});
    ranks.allow_single_copy(f);
    for (unsigned seed = 1; seed <= 3; ++seed) {  // what an earlier message's offer left does no harm
      Sending out{ranks[0], {1}, pattern(shared, seed)};
      Receiving in{ranks[1], 0, false, false, Bytes(shared)};
      in.transfer.busy = busy;
      EXPECT_FALSE(out.step());
      EXPECT_EQ(in.step(), !busy);
      in.transfer.busy = false;
      EXPECT_TRUE(in.step());
      EXPECT_EQ(in.data, out.data);
      EXPECT_TRUE(out.step());
    }
  }
}

TEST_F(SingleCopies, OffersNothingWhileItsOwnMessagesAreRead) {
  Ranks ranks(Geometry{2, 8, f});
  ranks.allow_single_copy(f);
  Sending there{ranks[0], {1}, pattern(shared, 1)}, back{ranks[1], {0}, pattern(shared, 2)};
  EXPECT_FALSE(there.step());
  EXPECT_FALSE(back.step());
  Receiving at_1{ranks[1], 0, false, false, Bytes(shared)}, at_0{ranks[0], 1, false, false, Bytes(shared)};
  at_1.transfer.busy = true;  // would offer all otherwise
  EXPECT_TRUE(at_1.step());
  EXPECT_TRUE(at_0.step());
  EXPECT_TRUE(there.step());
  EXPECT_TRUE(back.step());
  EXPECT_EQ(at_1.data, there.data);
  EXPECT_EQ(at_0.data, back.data);
  Sending later{ranks[0], {1}, pattern(shared, 3)};  // rank 1's own message is through
  EXPECT_FALSE(later.step());
  Receiving offering{ranks[1], 0, false, false, Bytes(shared)};
  offering.transfer.busy = true;
  EXPECT_FALSE(offering.step());
}

// The reader is busy for a while that is different each time, so that each order of offer, claim and withdrawal is met;
// so is the sender, at times, which is offered less.
TEST_F(SingleCopies, SharesCopiesWheneverBothCome) {
  Ranks ranks(Geometry{2, 8, f});
  ranks.allow_single_copy(f);
  constexpr unsigned messages = 200;
  std::thread sender([&] {
    for (unsigned seed = 0; seed < messages; ++seed) {
      Sending out{ranks[0], {1}, pattern(shared + 8 * seed, seed)};
      out.transfer.busy = seed % 3 == 0;
      while (!out.step()) std::this_thread::yield();
    }
  });
  unsigned wrong = 0;
  for (unsigned seed = 0; seed < messages; ++seed) {
    const Bytes expected = pattern(shared + 8 * seed, seed);
    Receiving in{ranks[1], 0, false, false, Bytes(expected.size())};
    in.transfer.busy = seed % 4 != 0;
    while (!in.step()) std::this_thread::sleep_for(std::chrono::microseconds(seed / 4 * 2));
    if (in.data != expected) ++wrong;
  }
  sender.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_FALSE(ranks[1].mismatch());
}

// What a rank has in a shared window is read where the window lies here: the reader's mapping shows other data than its owner's address, so that it can be told.
TEST_F(SingleCopies, ReadsSharedWindowsInPlace) {
  Ranks ranks(Geometry{3, 8, f});
  ranks.allow_single_copy(1 << 30);
  Bytes own = pattern(4 * f, 1), here = pattern(4 * f, 2);
  const auto address = reinterpret_cast<std::uintptr_t>(own.data());
  SharedWindows of_owner, of_reader, of_others;
  of_owner.add(7, {getpid(), {address, own.size(), nullptr}}, {});
  of_reader.add(7, {}, {{getpid(), {address, own.size(), reinterpret_cast<std::byte*>(here.data())}}});
  ranks[0].use_windows(&of_owner);
  ranks[1].use_windows(&of_reader);
  ranks[2].use_windows(&of_others);
  for (const bool through_sink : {false, true}) {
    Receiving in1{ranks[1], 0, false, through_sink, Bytes(own.size())};
    Receiving in2{ranks[2], 0, false, through_sink, Bytes(own.size())};
    const std::int32_t readers[] = {1, 2};
    Transfer out;
    EXPECT_FALSE(ranks[0].send(readers, own.data(), own.size(), out));
    EXPECT_TRUE(out.posted());
    EXPECT_TRUE(in1.step());
    EXPECT_TRUE(in2.step());
    EXPECT_TRUE(ranks[0].send(readers, own.data(), own.size(), out));
    EXPECT_EQ(in1.data, here);
    EXPECT_EQ(in2.data, own);  // no rank of the window: by system calls
  }
  of_owner.remove(7);
  const std::int32_t reader[] = {1};
  Receiving in{ranks[1], 0, false, false, Bytes(own.size())};
  Transfer out;
  EXPECT_TRUE(ranks[0].send(reader, own.data(), own.size(), out));  // through slots
  EXPECT_TRUE(in.step());
  EXPECT_EQ(in.data, own);
  EXPECT_FALSE(of_owner.holds(own.data(), own.size()));
  EXPECT_EQ(of_reader.here(getpid(), address + 1, own.size()), nullptr);  // not all of it
}

TEST_F(SingleCopies, UsesSlotsWhereAReaderCannotRead) {
  Ranks ranks(Geometry{3, 4, f});
  ranks[0].set_single_copy_from(1);
  ranks[1].probe_single_copy();
  EXPECT_EQ(ranks[1].single_copy_peers(), 2);
  EXPECT_EQ(ranks[2].single_copy_peers(), 0);
  for (const std::vector<std::int32_t>& readers : {std::vector<std::int32_t>{1}, {2}, {1, 2}, {}}) {
    Sending out{ranks[0], readers, pattern(3 * f, 1)};
    EXPECT_EQ(out.step(), readers != std::vector<std::int32_t>{1});
    for (const std::int32_t reader : readers.empty() ? std::vector<std::int32_t>{1, 2} : readers) {
      Receiving in{ranks[reader], 0, readers.empty(), false, Bytes(3 * f)};
      EXPECT_TRUE(in.step());
      EXPECT_EQ(in.data, out.data);
    }
    EXPECT_TRUE(out.step());
  }
}

// Rank 1 takes nothing until told, and holds all slots of rank 0, which must get another message through first.
class SlotsHeldTest : public testing::TestWithParam<std::vector<std::int32_t>> {};

TEST_P(SlotsHeldTest, ByALateReaderDoNotBlockOtherChannels) {
  Ranks ranks(Geometry{4, 4, f});
  Sending held{ranks[0], {1}, pattern(4 * f, 1)};
  ASSERT_TRUE(held.step());
  Sending out{ranks[0], GetParam(), pattern(10 * f + 5, 2)};
  const bool published = out.readers.empty();
  Receiving in2{ranks[2], 0, published, true, Bytes(out.data.size())};
  Receiving in3{ranks[3], 0, published, true, Bytes(out.data.size())};
  if (published) {
    Receiving in1{ranks[1], 0, true, true, Bytes(out.data.size())};
    ASSERT_TRUE(drive(out, in1, in2, in3));
    EXPECT_EQ(in1.data, out.data);
  } else if (out.readers.size() == 1) {
    ASSERT_TRUE(drive(out, in2));
    in3.data = in2.data;
  } else {
    ASSERT_TRUE(drive(out, in2, in3));
  }
  EXPECT_EQ(in2.data, out.data);
  EXPECT_EQ(in3.data, out.data);
  EXPECT_TRUE(in2.aligned && in3.aligned);
  Receiving late{ranks[1], 0, false, false, Bytes(4 * f)};
  ASSERT_TRUE(drive(late));
  EXPECT_EQ(late.data, held.data);
  // The slots are free again: a message of four slots is buffered at once.
  Sending again{ranks[0], {1}, pattern(4 * f, 3)};
  EXPECT_TRUE(again.step());
}

INSTANTIATE_TEST_SUITE_P(Targets, SlotsHeldTest,
                         testing::Values(std::vector<std::int32_t>{2}, std::vector<std::int32_t>{2, 3},
                                         std::vector<std::int32_t>{}));

TEST(Endpoint, LetsOneReaderOfASetFinishBeforeAnotherStarts) {
  for (const bool single_copy : with_and_without_single_copies()) {
    Ranks ranks(Geometry{3, 4, f});
    if (single_copy) ranks.allow_single_copy(f);
    Sending out{ranks[0], {1, 2}, pattern(40 * f + 7, 1)};
    Receiving early{ranks[1], 0, false, false, Bytes(out.data.size())};
    Receiving late{ranks[2], 0, false, false, Bytes(out.data.size())};
    for (int i = 0; i < enough && !early.complete; ++i) {
      out.step();
      early.step();
    }
    ASSERT_TRUE(early.complete);
    EXPECT_FALSE(out.complete);
    ASSERT_TRUE(drive(out, late));
    EXPECT_EQ(early.data, out.data);
    EXPECT_EQ(late.data, out.data);
    // The pool's entry serves the next set that splits.
    Sending next{ranks[0], {2, 1}, pattern(40 * f, 2)};
    Receiving in1{ranks[1], 0, false, false, Bytes(40 * f)}, in2{ranks[2], 0, false, false, Bytes(40 * f)};
    ASSERT_TRUE(drive(next, in1, in2));
    EXPECT_EQ(in1.data, next.data);
    EXPECT_EQ(in2.data, next.data);
  }
}

TEST(Endpoint, TruncatesAndReportsMismatchedLengths) {
  const struct {
    std::size_t sent, expected;
  } cases[] = {{8, 4},   {4, 8},         {0, 8},         {8, 0},     {56, 57},
               {57, 56}, {3 * f, 2 * f}, {2 * f, 3 * f}, {3 * f, 8}, {8, 3 * f}};
  for (const bool single_copy : with_and_without_single_copies())
    for (const bool through_sink : {false, true})
      for (const auto& [sent, expected] : cases) {
        Ranks ranks(Geometry{2, 4, f});
        if (single_copy) ranks.allow_single_copy(1);
        Sending out{ranks[0], {1}, pattern(sent, 1)}, next{ranks[0], {1}, pattern(8, 2)};
        Receiving in{ranks[1], 0, false, through_sink, Bytes(expected)};
        ASSERT_TRUE(drive(out, in));
        EXPECT_EQ(ranks[1].mismatch(), sent > expected || through_sink);  // a buffer may have more room
        const std::size_t both = std::min(sent, expected);
        EXPECT_TRUE(std::equal(in.data.begin(), in.data.begin() + both, out.data.begin()));
        Receiving after{ranks[1], 0, false, false, Bytes(8)};
        ASSERT_TRUE(drive(next, after));
        EXPECT_EQ(after.data, next.data);
      }
}

// Pages that a handler of faults makes accessible, one by one, as barriers of garbage collectors and checkpoints do.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes) {
    data_ =
        static_cast<std::uint8_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    the_one = this;
    struct sigaction action{};
    action.sa_sigaction = let_in;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~Guarded() {
    sigaction(SIGSEGV, &before_, nullptr);
    the_one = nullptr;
    munmap(data_, bytes_);
  }
  void protect(int protection, std::size_t from = 0) const { mprotect(data_ + from, bytes_ - from, protection); }
  std::uint8_t* data() const { return data_; }

 private:
  static void let_in(int, siginfo_t* fault, void*) {
    const auto at = reinterpret_cast<std::uintptr_t>(fault->si_addr);
    if (at - reinterpret_cast<std::uintptr_t>(the_one->data_) >= the_one->bytes_) _exit(99);
    mprotect(reinterpret_cast<void*>(at & ~(page_bytes - 1)), page_bytes, PROT_READ | PROT_WRITE);
  }
  static inline Guarded* the_one = nullptr;
  std::uint8_t* data_;
  std::size_t bytes_;
  struct sigaction before_{};
};

TEST_F(SingleCopies, TakesFromTheSenderWhatItsPagesRefuse) {
  constexpr std::size_t bytes = 100 * page_bytes;
  for (const bool published : {false, true})
    for (const bool through_sink : {false, true})
      for (const bool shares : {false, true}) {  // who has posted a single copy does not share the work of others'
        const Guarded from(bytes);
        Ranks ranks(Geometry{3, 4, 4 * f});
        ranks.allow_single_copy(f);
        Sending kept{ranks[1], {2}, pattern(f, 3)};
        EXPECT_TRUE(shares || !kept.step());
        const std::vector<std::int32_t> readers{1, 2};
        for (unsigned round = 0; round < 3; ++round) {
          const Bytes sent = pattern(bytes, round);
          from.protect(PROT_READ | PROT_WRITE);
          std::copy(sent.begin(), sent.end(), from.data());
          from.protect(PROT_NONE, round * 32 * page_bytes);  // of which a reader gets so many at first
          struct {
            Endpoint& endpoint;
            const std::vector<std::int32_t>& readers;
            const void* data;
            bool published;
            Transfer transfer{};
            bool complete = false;
            bool step() {
              if (!complete)
                complete =
                    published ? endpoint.publish(data, bytes, transfer) : endpoint.send(readers, data, bytes, transfer);
              return complete;
            }
          } out{ranks[0], readers, from.data(), published};
          EXPECT_FALSE(out.step());
          EXPECT_TRUE(out.transfer.posted());
          Receiving in1{ranks[1], 0, published, through_sink, Bytes(bytes)};
          Receiving in2{ranks[2], 0, published, through_sink, Bytes(bytes)};
          ASSERT_TRUE(drive(out, in1, in2));
          EXPECT_EQ(in1.data, sent);
          EXPECT_EQ(in2.data, sent);
          EXPECT_TRUE(in1.aligned && in2.aligned);
          EXPECT_FALSE(ranks[1].mismatch() || ranks[2].mismatch());
          EXPECT_EQ(ranks[1].copy_error(), EFAULT);
        }
      }
}

TEST_F(SingleCopies, WritesWhereAHandlerOfFaultsLetsIt) {
  constexpr std::size_t bytes = 40 * page_bytes;
  for (const bool published : {false, true})
    for (const bool busy : {false, true}) {
      const Guarded into(bytes);
      Ranks ranks(Geometry{2, 4, f});
      ranks.allow_single_copy(f);
      for (unsigned round = 0; round < 3; ++round) {
        into.protect(PROT_READ);
        Sending out{ranks[0], {}, pattern(bytes, round)};
        if (!published) out.readers = {1};
        EXPECT_FALSE(out.step());
        Transfer transfer;
        bool complete = false;
        for (int i = 0; i < enough && !complete; ++i) {
          transfer.busy = busy && i == 0;
          complete = published ? ranks[1].recv_published(0, into.data(), bytes, transfer)
                               : ranks[1].recv(0, into.data(), bytes, transfer);
          out.step();
        }
        EXPECT_TRUE(complete);
        EXPECT_TRUE(out.step());
        EXPECT_TRUE(std::equal(out.data.begin(), out.data.end(), into.data()));
        EXPECT_FALSE(ranks[1].mismatch());
      }
    }
}

// Ranks whose memory could be read once, but cannot any more.
class Refused : public testing::Test {
 protected:
  static constexpr std::int64_t nobody = 0x7fffffff;  // no process has this number
  static void refuse(Endpoint& reader, int from) {
    std::vector<Access> access(static_cast<std::size_t>(reader.p()));
    access[static_cast<std::size_t>(from)].pid = nobody;
    reader.know_access(access);
  }
};

TEST_F(Refused, SingleCopiesArriveAndTheNextMessagesGoThroughSlots) {
  for (const bool through_sink : {false, true})
    for (const std::size_t bytes : {f + 1, 3 * f, 200 * f + 5}) {
      Ranks ranks(Geometry{2, 4, f});
      refuse(ranks[1], 0);
      ranks[0].set_single_copy_from(f);
      Sending first{ranks[0], {1}, pattern(bytes, 1)}, second{ranks[0], {1}, pattern(bytes, 2)};
      EXPECT_FALSE(first.step());
      EXPECT_FALSE(second.step());  // posted before the reader has tried the first
      Receiving in1{ranks[1], 0, false, through_sink, Bytes(bytes)},
          in2{ranks[1], 0, false, through_sink, Bytes(bytes)};
      ASSERT_TRUE(drive_until_first(in1, first, second));
      ASSERT_TRUE(drive(first, second, in2));
      EXPECT_EQ(in1.data, first.data);
      EXPECT_EQ(in2.data, second.data);
      EXPECT_TRUE(in1.aligned && in2.aligned);
      EXPECT_FALSE(ranks[1].mismatch());
      EXPECT_NE(ranks[1].copy_error(), 0);
      Sending third{ranks[0], {1}, pattern(3 * f, 3)};
      EXPECT_TRUE(third.step());
      Receiving in3{ranks[1], 0, false, through_sink, Bytes(3 * f)};
      EXPECT_TRUE(in3.step());
      EXPECT_EQ(in3.data, third.data);
    }
}

TEST_F(Refused, ABusyReaderHasTheMessageAsWell) {
  Ranks ranks(Geometry{2, 4, f});
  refuse(ranks[1], 0);
  ranks[0].set_single_copy_from(f);
  Sending out{ranks[0], {1}, pattern(shared, 1)};
  Receiving in{ranks[1], 0, false, false, Bytes(shared)};
  in.transfer.busy = true;
  EXPECT_FALSE(out.step());
  EXPECT_FALSE(in.step());
  in.transfer.busy = false;
  ASSERT_TRUE(drive(in, out));
  EXPECT_EQ(in.data, out.data);
}

TEST_F(Refused, OneReaderOfAPublishedMessageHoldsUpNoOther) {
  for (const int refused : {1, 2})
    for (const bool through_sink : {false, true}) {
      Ranks ranks(Geometry{4, 4, f});
      ranks.allow_single_copy(f);
      for (int reader = 1; reader <= refused; ++reader) refuse(ranks[reader], 0);
      Sending out{ranks[0], {}, pattern(50 * f + 3, 1)};
      EXPECT_FALSE(out.step());
      Receiving in1{ranks[1], 0, true, through_sink, Bytes(out.data.size())};
      Receiving in2{ranks[2], 0, true, through_sink, Bytes(out.data.size())};
      Receiving in3{ranks[3], 0, true, through_sink, Bytes(out.data.size())};
      ASSERT_TRUE(drive_until_first(in1, out));
      ASSERT_TRUE(drive(in2, in3, out));
      for (const Receiving* in : {&in1, &in2, &in3}) EXPECT_EQ(in->data, out.data);
    }
}

TEST_F(Refused, LengthsAreStillCompared) {
  for (const std::size_t expected : {std::size_t{0}, f, 9 * f, 12 * f})
    for (const bool through_sink : {false, true}) {
      Ranks ranks(Geometry{2, 4, f});
      refuse(ranks[1], 0);
      ranks[0].set_single_copy_from(f);
      Sending out{ranks[0], {1}, pattern(10 * f, 1)};
      EXPECT_FALSE(out.step());
      Receiving in{ranks[1], 0, false, through_sink, Bytes(expected)};
      ASSERT_TRUE(drive(out, in));
      EXPECT_TRUE(std::equal(in.data.begin(), in.data.begin() + std::min(expected, 10 * f), out.data.begin()));
      EXPECT_EQ(ranks[1].take_mismatch(), expected < 10 * f || through_sink);
    }
}

TEST_F(Refused, SlotsHeldByALateReaderDoNotBlock) {
  for (const bool published : {false, true})
    for (const bool through_sink : {false, true}) {
      Ranks ranks(Geometry{3, 4, f});
      refuse(ranks[1], 0);
      refuse(ranks[2], 0);
      Sending held{ranks[0], {2}, pattern(4 * f, 1)};
      ASSERT_TRUE(held.step());
      ranks[0].set_single_copy_from(f);
      Sending out{ranks[0], {}, pattern(10 * f + 5, 2)};
      if (!published) out.readers = {1};
      EXPECT_FALSE(out.step());
      Receiving in1{ranks[1], 0, published, through_sink, Bytes(out.data.size())};
      Receiving in2{ranks[2], 0, true, through_sink, Bytes(out.data.size()), {}, !published};
      if (in2.complete) in2.data = out.data;
      ASSERT_TRUE(drive(out, in1, in2));
      EXPECT_EQ(in1.data, out.data);
      EXPECT_EQ(in2.data, out.data);
      EXPECT_TRUE(in1.aligned);
      Receiving late{ranks[2], 0, false, false, Bytes(4 * f)};
      ASSERT_TRUE(drive(late));
      EXPECT_EQ(late.data, held.data);
      ranks[0].set_single_copy_from(never);
      Sending again{ranks[0], {1}, pattern(4 * f, 3)};  // all slots are free again
      EXPECT_TRUE(again.step());
    }
}

TEST(Endpoint, AloneHasNobodyToWaitFor) {
  Ranks ranks(Geometry{1, 2, f});
  ranks.allow_single_copy(10 * f);
  for (const std::size_t bytes : sizes)
    for (int i = 0; i < 40; ++i) {
      Sending out{ranks[0], {}, pattern(bytes, 1)};
      ASSERT_TRUE(out.step());
    }
}

TEST_F(SingleCopies, SharesLongSingleCopiesBetweenBothSides) {
  Ranks ranks(Geometry{2, 4, f});
  ranks.allow_single_copy(f);
  for (int i = 0; i < 50; ++i) {
    const bool published = i % 2 == 0;
    Sending out{ranks[0], {}, pattern((1U << 20) + i * 37, i)};
    if (!published) out.readers = {1};
    std::thread sender([&] {
      while (!out.step()) {
      }
    });
    Receiving in{ranks[1], 0, published, false, Bytes(out.data.size())};
    while (!in.step()) {
    }
    const bool right = in.data == out.data;  // nothing may arrive after completion, so it is looked at before the join
    sender.join();
    ASSERT_TRUE(right) << i;
  }
  EXPECT_EQ(ranks[1].copy_error(), 0);
}

// Every rank runs the same random list of messages as threads, each channel in order, all channels at once.
struct Message {
  int from;
  std::vector<std::int32_t> readers;  // empty: published
  std::size_t bytes;
  unsigned seed;
};

std::vector<Message> random_messages(int p, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Message> messages;
  for (int i = 0; i < count; ++i) {
    Message message{static_cast<int>(random() % p), {}, 0, seed + i};
    if (random() % 3 != 0) {
      for (int r = 0; r < p; ++r)
        if (r != message.from && random() % p < 2) message.readers.push_back(r);
      if (message.readers.empty()) message.readers = {(message.from + 1) % p};
    }
    message.bytes = random() % 4 == 0 ? random() % (30 * f) : sizes[random() % std::size(sizes)];
    messages.push_back(std::move(message));
  }
  return messages;
}

// Steps each list from its first message on, in order. A set stands in several sending channels: it starts when it
// heads them all.
bool run_rank(Endpoint& endpoint, const std::vector<Message>& messages) {
  const int me = endpoint.rank(), p = endpoint.p();
  std::vector<std::unique_ptr<Sending>> sends;
  std::vector<std::vector<std::pair<std::unique_ptr<Receiving>, unsigned>>> receives(2 * p);
  for (const Message& m : messages) {
    const bool mine = m.readers.empty() || std::count(m.readers.begin(), m.readers.end(), me) > 0;
    if (m.from == me) {
      sends.push_back(std::make_unique<Sending>(Sending{endpoint, m.readers, pattern(m.bytes, m.seed)}));
    } else if (mine) {
      const bool published = m.readers.empty();
      receives[2 * m.from + (published ? 1 : 0)].emplace_back(
          std::make_unique<Receiving>(Receiving{endpoint, m.from, published, m.seed % 2 == 0, Bytes(m.bytes)}), m.seed);
    }
  }
  std::vector<std::size_t> next(receives.size(), 0);
  std::size_t first_send = 0;
  bool right = true;
  const WaitPolicy policy{.oversubscribed = true, .sleep_word = endpoint.sleep_word()};
  Waiter waiter(policy);
  for (;;) {
    bool moved = false, all = true;
    std::vector<bool> busy(p + 1, false);  // sending channels whose head is not yet complete or posted; p: publishes
    for (std::size_t i = first_send; i < sends.size(); ++i) {
      Sending& send = *sends[i];
      if (send.complete) continue;
      all = false;
      const auto channels = send.readers.empty() ? std::vector<std::int32_t>{p} : send.readers;
      const bool head = std::none_of(channels.begin(), channels.end(), [&](std::int32_t c) { return busy[c]; });
      if (head && send.step()) moved = true;
      if (!send.complete && !send.transfer.posted())
        for (const std::int32_t c : channels) busy[c] = true;
    }
    while (first_send < sends.size() && sends[first_send]->complete) ++first_send;
    for (std::size_t c = 0; c < receives.size(); ++c) {
      if (next[c] == receives[c].size()) continue;
      all = false;
      auto& [receive, seed] = receives[c][next[c]];
      if (!receive->step()) continue;
      right = right && receive->data == pattern(receive->data.size(), seed) && receive->aligned;
      ++next[c];
      moved = true;
    }
    if (all) return right && !endpoint.mismatch() && endpoint.copy_error() == 0;
    if (moved) {
      waiter.reset();
    } else {
      waiter.pause();
    }
  }
}

TEST(Endpoint, WakesWhoSleepsElsewhere) {
  Ranks ranks(Geometry{2, 2, f});
  SleepWord word{};
  word.word = 1;
  ranks[0].sleeps_at(1, &word);
  Sending sending{ranks[0], {1}, pattern(8, 1)};
  EXPECT_TRUE(sending.step());
  EXPECT_EQ(word.asleep(), 0U);
}

// A rank that waits for something else, as in the host MPI, may wait for those who sleep until this rank comes.
TEST(Sleepers, AreWokenWhenAsked) {
  SleepWord words[3]{};
  const auto wake_all = [&] {
    for (SleepWord& word : words) word.word = 1;
    for (int i = 0; i < 20; ++i) wake_sleepers();  // which looks in some of the calls
  };
  wake_all();
  EXPECT_EQ(words[0].asleep(), 1U) << "nobody has said where ranks sleep";
  watch_sleepers({&words[0], &words[2]}, false);
  wake_all();
  EXPECT_EQ(words[0].asleep(), 0U);
  EXPECT_EQ(words[1].asleep(), 1U);
  EXPECT_EQ(words[2].asleep(), 0U);
  watch_sleepers({}, false);
}

/// The CPUs on which this thread may run again in the end.
class Bound {
 public:
  Bound() : usable_(own_cpus()) {}
  ~Bound() { to(usable_); }
  static void to(const std::vector<int>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(cpu, &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

 private:
  const std::vector<int> usable_;
};

TEST(Sleepers, SayWhetherOthersAreOnTheSameCpu) {
  const std::vector<int> cpus = own_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU";
  const Bound bound;
  SleepWord words[3]{};
  SleepWord* const all[] = {&words[0], nullptr, &words[1], &words[2]};
  Bound::to({cpus[0]});
  EXPECT_TRUE(share_cpu(words[0], all)) << "where the others are is not known";
  Bound::to({cpus[1]});
  EXPECT_TRUE(share_cpu(words[1], all)) << "where the last one is is not known";
  EXPECT_TRUE(share_cpu(words[2], all));
  Bound::to({cpus[0]});
  EXPECT_FALSE(share_cpu(words[0], all));
  EXPECT_TRUE(share_cpu(words[2], all));
}

TEST(Sleepers, KnowACpuWhereFewerAreAwake) {
  SleepWord words[3]{};
  SleepWord* const others[] = {&words[0], &words[1], &words[2]};
  constexpr int here = 5, there = 7, nowhere = -1;
  const auto emptier = [&](std::vector<int> cpus) { return emptier_cpu(here, others, cpus); };
  const auto put = [&](int first, int second, int third) {
    words[0].cpu = first + 1, words[1].cpu = second + 1, words[2].cpu = third + 1;
  };
  put(nowhere, nowhere, nowhere);
  EXPECT_EQ(emptier({here, there}), -1) << "where they are is not known";
  put(here, there, there);
  EXPECT_EQ(emptier({here, there}), -1);
  put(here, here, there);
  EXPECT_EQ(emptier({here, there}), there) << "with this one there are three here";
  EXPECT_EQ(emptier({3, here, there}), 3) << "nobody";
  EXPECT_EQ(emptier({3, here, there, 9}), 9) << "those behind this one first";
  EXPECT_EQ(emptier({here}), -1) << "it may run nowhere else";
  EXPECT_EQ(emptier({}), -1);
  words[0].word = 1;
  EXPECT_EQ(emptier({here, there}), -1) << "one of them sleeps";
  EXPECT_EQ(emptier_cpu(-1, others, std::vector{there}), -1);
}

TEST(Sleepers, GoToAnEmptierCpuAndMayRunWhereTheyCould) {
  const std::vector<int> usable = own_cpus();
  if (usable.size() < 2) GTEST_SKIP() << "one CPU";
  SleepWord own{}, others[2]{};
  const auto near_all = [](int) { return std::vector<int>{}; };
  const auto near_itself = [](int cpu) { return std::vector<int>{cpu}; };
  Spreading spreading(own, {&others[0], &others[1]}, own_cpus, near_all);
  Spreading without_neighbours(own, {&others[0], &others[1]}, own_cpus, near_itself);
  bool has_gone = false;
  for (int tries = 0; tries < 1000 && !has_gone; ++tries) {  // the kernel may move this thread, too
    const int here = sched_getcpu();
    others[0].cpu = others[1].cpu = here + 1;
    without_neighbours.look();
    if (own.cpu != here + 1) continue;
    spreading.look();
    has_gone = own.cpu != here + 1 && own.cpu == sched_getcpu() + 1;
    EXPECT_EQ(own_cpus(), usable);
  }
  EXPECT_TRUE(has_gone);
}

TEST(Sleepers, StayWhereTheyAreBound) {
  const std::vector<int> usable = own_cpus();
  if (usable.size() < 2) GTEST_SKIP() << "one CPU";
  SleepWord own{}, other{};
  Spreading spreading(own, {&other}, own_cpus, [](int) { return std::vector<int>{}; });
  const Bound bound;
  Bound::to({usable[1]});  // after it has looked where it may run
  other.cpu = usable[1] + 1;
  spreading.look();
  EXPECT_EQ(own.cpu, usable[1] + 1);
  EXPECT_EQ(own_cpus(), std::vector{usable[1]});
}

class ThreadsTest : public testing::TestWithParam<std::tuple<int, int, std::size_t>> {};

TEST_P(ThreadsTest, ExchangeRandomMessages) {
  const auto [p, slots, single_copy_from] = GetParam();
  if (single_copy_from > 0 && !single_copies_work()) GTEST_SKIP() << no_single_copies;
  for (unsigned seed = 1; seed <= 2; ++seed) {
    Ranks ranks(Geometry{p, slots, f}, seed == 1 ? 0 : 0xffff'ff00U);
    if (single_copy_from > 0) ranks.allow_single_copy(single_copy_from);
    const auto messages = random_messages(p, 250, seed * 1000);
    std::vector<char> right(p, 0);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < p; ++rank)
      threads.emplace_back([&, rank] { right[rank] = run_rank(ranks[rank], messages); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, std::vector<char>(p, 1)) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ThreadsTest,
                         testing::Combine(testing::Values(2, 3, 5, 8), testing::Values(1, 8),
                                          testing::Values(std::size_t{0}, 4 * f)));

/// Copies of these lengths between these distances from the start of two buffers.
template <class Copy>
void check_copies(const Copy& copy, std::initializer_list<std::size_t> lengths,
                  std::initializer_list<std::size_t> skews_to, std::initializer_list<std::size_t> skews_from) {
  constexpr std::size_t margin = 64;
  std::vector<std::uint8_t> from(std::max(lengths) + 2 * margin), to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 7 + 1);
  for (const std::size_t bytes : lengths) {
    for (const std::size_t skew_to : skews_to) {
      for (const std::size_t skew_from : skews_from) {
        std::fill(to.begin(), to.end(), 0xAA);
        copy(to.data() + skew_to, from.data() + skew_from, bytes);
        std::vector<std::uint8_t> want(to.size(), 0xAA);
        std::copy_n(from.begin() + skew_from, bytes, want.begin() + skew_to);
        ASSERT_TRUE(to == want) << bytes << " bytes, skews " << skew_to << ", " << skew_from;
      }
    }
  }
}

TEST(CopyBytes, CopiesEveryLengthAndAlignmentAndNothingElse) {
  check_copies(copy_bytes, {0, 1, 1023, 1024, 1025, 1055, 1056, 1151, 1152, 1153, 2048, 8192, 8999},
               {0, 1, 16, 31, 32, 33}, {0, 1, 16, 31});
}

TEST(CopyBytes, CopiesLongOnesPastTheCache) {
  constexpr std::size_t long_one = 3 * 1024 * 1024;
  check_copies(copy_bytes, {long_one - 1, long_one, long_one + 77}, {0, 1, 33}, {0, 31});
}

TEST(OutwardCopy, CopiesThroughTheCachesAndPastThem) {
  OutwardCopy outward;
  const auto copy = [&](void* to, const void* from, std::size_t bytes) { outward.copy(to, from, bytes); };
  for (int i = 0; i < 30; ++i)  // both ways: each is tried once in so many copies
    check_copies(copy, {0, 100, 4095, 4096, 4097, 5000}, {0, 1, 32}, {0, 31});
}

TEST(OutwardCopy, BringsThereWhatIsFilledInInBothWays) {
  OutwardCopy outward;
  const auto fill = [&](void* to, const void* from, std::size_t bytes) {
    outward.fill(static_cast<std::byte*>(to), bytes, OutwardCopy::not_known, [&](std::byte* there) {
      if (bytes > 0) std::memcpy(there, from, bytes);
    });
  };
  for (int i = 0; i < 30; ++i) check_copies(fill, {0, 100, 4095, 4096, 4097, 5000}, {0, 1, 32}, {0, 31});
}

TEST(OutwardCopy, DoesWhatItsReaderIsFasterWith) {
  using Way = OutwardCopy::Way;
  const Bytes from(8192, 7);
  Bytes to(from.size());
  for (const Way better : {Way::through_caches, Way::past_caches}) {
    OutwardCopy outward;
    OutwardCopy::Paces reading{};
    for (const Way way : {Way::through_caches, Way::past_caches})
      reading[static_cast<std::size_t>(way)].time(true, way == better ? 1 << 20 : 1, [&] {
        if (way != better) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      });
    int as_expected = 0, timed = 0;
    constexpr int copies = 256;
    for (int i = 0; i < copies; ++i) {
      const OutwardCopy::Written written = outward.copy(to.data(), from.data(), from.size(), reading);
      as_expected += written.way == better;
      timed += written.timed;
    }
    EXPECT_EQ(to, from);
#if defined(__x86_64__)
    if (!processor::has_avx2()) continue;
    EXPECT_EQ(as_expected, copies - copies / 128);  // the other way now and then
    EXPECT_EQ(timed, copies / 8);
#endif
  }
}

}  // namespace
}  // namespace omnes::shm
