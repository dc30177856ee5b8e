// Segments across real processes: made, found, released, and gone when a process is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "in_child.hpp"
#include "transport/shm/endpoint.hpp"

namespace omnes::shm {
namespace {

std::set<std::string> left_in_dev_shm() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("omnes-" + std::to_string(getpid()) + "-")) names.insert(name);
  }
  return names;
}

// A child process with a pipe from and to its parent; it inherits nothing made after it.
class Child {
 public:
  explicit Child(const std::function<bool(Child&)>& body) {
    EXPECT_EQ(pipe(down_), 0);
    EXPECT_EQ(pipe(up_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      std::swap(down_, up_);
      _exit(body(*this) ? 0 : 1);
    }
  }
  ~Child() {
    for (const int fd : {down_[0], down_[1], up_[0], up_[1]}) close(fd);
  }
  template <class T>
  void put(const T& value) {
    ASSERT_EQ(write(down_[1], &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class T>
  T get() {
    T value;
    EXPECT_EQ(read(up_[0], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return status;
  }
  void kill_it() { kill(pid_, SIGKILL); }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int down_[2], up_[2];
};

template <class Progress>
void drive(Progress progress) {
  const WaitPolicy policy{.oversubscribed = true};
  Waiter waiter(policy);
  while (!progress()) waiter.pause();
}

constexpr std::size_t long_message = 300'000;  // bytes: many fragments, or a single copy

// Sends a long message each way and checks it; rank 0 also hears how the other fared.
bool exchange(Endpoint& endpoint) {
  const std::int32_t other = 1 - endpoint.rank();
  std::vector<std::uint8_t> mine(long_message), theirs(long_message), expected(long_message);
  std::iota(mine.begin(), mine.end(), static_cast<std::uint8_t>(endpoint.rank()));
  std::iota(expected.begin(), expected.end(), static_cast<std::uint8_t>(other));
  Transfer out, in;
  bool sent = false, received = false;
  drive([&] {
    sent = sent || endpoint.send({&other, 1}, mine.data(), mine.size(), out);
    received = received || endpoint.recv(other, theirs.data(), theirs.size(), in);
    return sent && received;
  });
  return theirs == expected && !endpoint.mismatch() && endpoint.copy_error() == 0;
}

constexpr unsigned nobody = 65534;  // another user

class SegmentTest : public testing::TestWithParam<Medium> {};

TEST_P(SegmentTest, CarriesMessagesBetweenProcesses) {
  Child child([](Child& parent) {
    std::string error;
    auto segment = Segment::attach(parent.get<Ticket>(), error);
    if (!segment) return false;
    Endpoint endpoint(segment, 1);
    parent.put('a');
    parent.get<char>();
    endpoint.probe_single_copy();
    return exchange(endpoint);
  });
  Ticket ticket;
  std::string error;
  auto segment = Segment::create(Geometry{2}, GetParam(), ticket, error);
  ASSERT_TRUE(segment) << error;
  EXPECT_EQ(left_in_dev_shm().size(), GetParam() == Medium::file ? 1U : 0U);
  child.put(ticket);
  Endpoint endpoint(segment, 0);
  ASSERT_EQ(child.get<char>(), 'a');
  segment->everyone_attached();
  EXPECT_TRUE(left_in_dev_shm().empty());
  child.put('b');
  endpoint.probe_single_copy();
  EXPECT_TRUE(exchange(endpoint));
  EXPECT_EQ(child.wait(), 0);
}

TEST_P(SegmentTest, IsGoneWhenItsProcessesAreKilled) {
  const auto before = left_in_dev_shm();
  Child child([](Child& parent) {
    std::string error;
    Ticket ticket;
    auto segment = Segment::create(Geometry{2}, GetParam(), ticket, error);
    if (!segment) return false;
    segment->everyone_attached();
    Endpoint endpoint(segment, 0);
    parent.put('a');
    parent.get<char>();  // never comes
    return true;
  });
  ASSERT_EQ(child.get<char>(), 'a');
  child.kill_it();
  EXPECT_TRUE(WIFSIGNALED(child.wait()));
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    EXPECT_EQ(entry.path().string().find("omnes-" + std::to_string(child.pid())), std::string::npos) << entry.path();
}

TEST_P(SegmentTest, CannotBeAttachedOnceEveryoneHas) {
  Ticket ticket;
  std::string error;
  auto segment = Segment::create(Geometry{4}, GetParam(), ticket, error);
  ASSERT_TRUE(segment) << error;
  EXPECT_TRUE(Segment::attach(ticket, error)) << error;
  segment->everyone_attached();
  EXPECT_FALSE(Segment::attach(ticket, error));
  EXPECT_NE(error, "");
}

TEST_P(SegmentTest, RefusesWhatIsNotTheTicketsSegment) {
  Ticket ticket;
  std::string error;
  auto segment = Segment::create(Geometry{2}, GetParam(), ticket, error);
  ASSERT_TRUE(segment) << error;
  Ticket bigger = ticket;
  bigger.geometry.p = 3;
  EXPECT_FALSE(Segment::attach(bigger, error));
  EXPECT_NE(error, "");
  Ticket other = ticket;
  ++other.nonce;
  EXPECT_FALSE(Segment::attach(other, error));
  EXPECT_NE(error, "");
}

TEST_P(SegmentTest, IsNotForOtherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  Ticket ticket;
  std::string error;
  auto segment = Segment::create(Geometry{2}, GetParam(), ticket, error);
  ASSERT_TRUE(segment) << error;
  EXPECT_EQ(in_child([&] { return Segment::attach(ticket, error) ? 0 : 1; }), 0);
  EXPECT_EQ(in_child([&] {
              if (setgid(nobody) != 0 || setuid(nobody) != 0) return 1;
              return Segment::attach(ticket, error) || error.find("Permission denied") == error.npos ? 2 : 0;
            }),
            0);
}

TEST_P(SegmentTest, IsNotMadeBeyondTheLimitOfFiles) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = Geometry{2}.total_bytes();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  Ticket ticket;
  std::string error;
  EXPECT_TRUE(Segment::may_be_made(Geometry{2}.total_bytes()));
  EXPECT_TRUE(Segment::create(Geometry{2}, GetParam(), ticket, error)) << error;
  EXPECT_FALSE(Segment::may_be_made(Geometry{3}.total_bytes()));
  EXPECT_FALSE(Segment::create(Geometry{3}, GetParam(), ticket, error));
  EXPECT_EQ(error, "cannot size a shared segment: File too large");
  setrlimit(RLIMIT_FSIZE, &before);
}

TEST(SegmentRoomTest, IsThatOfSharedMemory) {
  EXPECT_TRUE(Segment::has_room(Geometry{2}.total_bytes()));
  struct statvfs space{};
  ASSERT_EQ(statvfs("/dev/shm", &space), 0);
  const std::size_t all = space.f_blocks * space.f_frsize;
  EXPECT_EQ(Segment::has_room(all + 1), all == 0);  // a mount without a limit
}

TEST(PoolTest, CarriesMessagesOfSegmentsThatLieInARow) {
  constexpr int count = 30;
  Child child([](Child& parent) {
    for (int i = 0; i < count; ++i) {
      std::string error;
      const auto segment = Segment::attach(parent.get<Ticket>(), error);
      if (!segment) return false;
      Endpoint endpoint(segment, 1);
      parent.put('a');
      if (!exchange(endpoint)) return false;
    }
    return true;
  });
  std::vector<std::shared_ptr<Segment>> segments;
  for (int i = 0; i < count; ++i) {
    Ticket ticket;
    std::string error;
    segments.push_back(Segment::create(Geometry{2, 8, std::size_t{8192} << (i % 5)}, Medium::pool, ticket, error));
    ASSERT_TRUE(segments.back()) << error;
    EXPECT_FALSE(segments.back()->waits_for_all());
    child.put(ticket);
    Endpoint endpoint(segments.back(), 0);
    ASSERT_EQ(child.get<char>(), 'a');
    EXPECT_TRUE(exchange(endpoint));
  }
  EXPECT_EQ(child.wait(), 0);
}

// Whoever makes and drops segments for ever needs no more memory than for those that there are at once, and each is new.
TEST(PoolTest, CutsAnewWhatAllHaveLeft) {
  const Geometry geometry{2, 8, 1 << 20};
  std::set<std::uint64_t> places;
  for (int i = 0; i < 200; ++i) {
    Ticket ticket;
    std::string error;
    const auto segment = Segment::create(geometry, Medium::pool, ticket, error);
    ASSERT_TRUE(segment) << error;
    const auto found = Segment::attach({geometry, Medium::pool, ticket.fd, ticket.pid, ticket.nonce}, error);
    ASSERT_TRUE(found) << error;
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(segment->layout().identity(rank)->pid, 0);
      EXPECT_EQ(*segment->layout().slot(rank, 7), std::byte{0});
      std::memset(segment->layout().slot(rank, 7), 1, 64);
      segment->layout().identity(rank)->pid = 1;
    }
    EXPECT_EQ(found->layout().identity(1)->pid, 1);
    places.insert(ticket.nonce);
  }
  EXPECT_LE(places.size(), 20U);
}

TEST(PoolTest, RefusesWhatIsNotTheTicketsSegment) {
  Ticket ticket;
  std::string error;
  const auto segment = Segment::create(Geometry{2}, Medium::pool, ticket, error);
  ASSERT_TRUE(segment) << error;
  for (const auto change :
       {+[](Ticket& t) { ++t.nonce; }, +[](Ticket& t) { t.nonce -= 1 << 20; }, +[](Ticket& t) { t.fd = 1 << 20; },
        +[](Ticket& t) { t.geometry.slots = 1 << 20; }, +[](Ticket& t) { t.geometry = {1000, 1000, 1 << 20, 2}; }}) {
    Ticket other = ticket;
    change(other);
    EXPECT_FALSE(Segment::attach(other, error));
    EXPECT_NE(error, "");
  }
}

TEST(PoolTest, TakesNoMoreThanTheLimitOfFilesAllows) {
  Child child([](Child&) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 2 * Geometry{2}.total_bytes();
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    Ticket ticket;
    std::string error;
    const bool small = Segment::create(Geometry{2}, Medium::pool, ticket, error) != nullptr;
    return small && !Segment::create(Geometry{64, 64, 1 << 20}, Medium::pool, ticket, error) &&
           error == "cannot size memory for shared segments: File too large";
  });
  EXPECT_EQ(child.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Media, SegmentTest, testing::Values(Medium::nameless, Medium::file),
                         [](const auto& info) { return info.param == Medium::file ? "file" : "nameless"; });

TEST(Geometry, HasThePapersSizes) {
  EXPECT_EQ(Geometry{8}.total_bytes(), 768U << 10);
  EXPECT_EQ(Geometry{16}.total_bytes(), 1536U << 10);
}

TEST(Geometry, HasRoomForEveryLineAtAnySize) {
  for (const int p : {1, 2, 17, 53, 54, 200})
    for (const int slots : {1, 3, 8, 64}) {
      const Geometry geometry{p, slots, 64};
      std::byte* const none = nullptr;
      const Layout layout(geometry, none);
      EXPECT_EQ(geometry.control_bytes() % 4096, 0U);
      const auto address = [](auto* line) { return reinterpret_cast<std::uintptr_t>(line); };
      EXPECT_EQ(address(layout.consumed(0, 0)), address(layout.publish_ring(0)) + publish_lines * line_bytes);
      EXPECT_LE(address(layout.consumed(0, p - 1)) + line_bytes, address(layout.pair_ring(0, 0)));
      EXPECT_EQ(address(layout.pair_ring(0, 0)) % (2 * line_bytes), 0U);
      EXPECT_LE(address(layout.pair_ring(0, p - 1)) + geometry.pair_lines() * line_bytes, address(layout.slot(0, 0)));
      EXPECT_LE(reinterpret_cast<std::uintptr_t>(layout.slot(p - 1, slots - 1)) + geometry.slot_bytes,
                geometry.total_bytes());
    }
}

TEST(Geometry, ShortLanesLieBehindTheOthers) {
  for (const int p : {1, 2, 17, 200})
    for (const std::size_t slot_bytes : {std::size_t{64}, std::size_t{32} << 10}) {
      const Geometry geometry{p, 64, slot_bytes, 2, 3};
      EXPECT_EQ(geometry.total_bytes() % 4096, 0U);
      EXPECT_EQ(geometry.of_lane(1).total_bytes(), Geometry({p, 64, slot_bytes}).total_bytes());
      EXPECT_LE(geometry.of_lane(2).slots, 64);
      EXPECT_LE(geometry.of_lane(2).slot_bytes, slot_bytes);
      for (int lane = 0; lane < geometry.all_lanes(); ++lane) {
        const std::size_t end = geometry.offset_of_lane(lane) + geometry.of_lane(lane).lane_bytes();
        if (lane + 1 < geometry.all_lanes())
          EXPECT_EQ(end, geometry.offset_of_lane(lane + 1));
        else
          EXPECT_LE(end, geometry.total_bytes());
      }
    }
}

TEST(Geometry, SaysWhatIsValid) {
  const struct {
    Geometry geometry;
    const char* why;
  } wrong[] = {{{0}, "a segment is for 1 or more ranks, not 0"},
               {{2, 0}, "slots must be 1 to 1024, not 0"},
               {{2, 8, 8192, 1, -1}, "short lanes must be 0 to 1024, not -1"},
               {{2, 8, 100}, "slot bytes must be a multiple of 64 from 64 to 256M, not 100"}};
  for (const auto& [geometry, why] : wrong) {
    EXPECT_EQ(geometry.why_not(), why);
    std::string error;
    EXPECT_FALSE(Segment::in_process(geometry, error));
    EXPECT_EQ(error, why);
  }
}

}  // namespace
}  // namespace omnes::shm
