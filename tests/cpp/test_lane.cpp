// Lanes, with threads as ranks: what is queued waits for the lane to open, runs one after the other, and ends once.
#include "runtime/lane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/team.hpp"

namespace omnes {
namespace {

using Words = std::vector<std::uint64_t>;

/// What a rank brings to the number-th operation: different everywhere, never zero.
Words words_of(int rank, int number, std::size_t count) {
  Words words(count);
  std::iota(words.begin(), words.end(), 1 + std::uint64_t{1000003} * number + std::uint64_t{10007} * rank);
  return words;
}

/// The number-th operation of a mix, on one rank: its data, its flight, and how it ended.
class Trip {
 public:
  Trip(Team& team, int number, std::vector<int>& ended) : number_(number), ended_(ended) {
    constexpr std::size_t counts[] = {1, 7, 700, 5000};  // words: within a line, within a slot, through several
    const int p = team.p(), rank = team.rank(), root = number % p;
    const std::size_t count = counts[number % 4];
    call_.count = count;
    call_.element = sizeof(std::uint64_t);
    switch (number % 3) {
      case 0:
        call_.operation = Operation::allreduce;
        call_.reduction = &sum_;
        send_ = words_of(rank, number, count);
        want_.resize(count);
        for (int r = 0; r < p; ++r) {
          const Words theirs = words_of(r, number, count);
          for (std::size_t i = 0; i < count; ++i) want_[i] += theirs[i];
        }
        recv_.resize(count);
        break;
      case 1:
        call_.operation = Operation::bcast;
        call_.root = root;
        want_ = words_of(root, number, count);
        recv_ = rank == root ? want_ : Words(count);
        break;
      default:
        call_.operation = Operation::allgather;
        send_ = words_of(rank, number, count);
        for (int r = 0; r < p; ++r) {
          const Words theirs = words_of(r, number, count);
          want_.insert(want_.end(), theirs.begin(), theirs.end());
        }
        recv_.resize(want_.size());
    }
    call_.send = send_.data();
    call_.recv = recv_.data();
    const std::shared_ptr<Prepared> prepared = team.prepare(call_, Form::nonblocking);
    flight.plan = {prepared, &prepared->plan};
    flight.bases = bases_of(call_);
    flight.reduction = call_.reduction;
    flight.context = this;
    flight.ended = [](void* trip, int code) { static_cast<Trip*>(trip)->end(code); };
  }
  Trip(const Trip&) = delete;
  Trip& operator=(const Trip&) = delete;

  int code() const { return code_; }
  void expect_success() const {
    EXPECT_EQ(code_, 0) << "operation " << number_;
    EXPECT_EQ(recv_, want_) << "operation " << number_;
  }

  Flight flight;

 private:
  void end(int code) {
    code_ = code;
    ended_.push_back(number_);
  }

  int number_;
  std::vector<int>& ended_;
  int code_ = 12345;  // no end has this
  Reduction sum_{kernel(ReduceOp::sum, Element::u64), nullptr, true};
  Words send_, recv_, want_;
  Call call_;
};

std::vector<int> numbers(int first, int count) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

TeamSetup setup_of(int p, int rank) {
  static const Selector selector{Settings{}};
  TeamSetup setup;
  setup.p = p;
  setup.rank = rank;
  setup.selector = &selector;
  return setup;
}

/// A rank with two lanes. Operations are numbered over both, starting at 0.
class Rank {
 public:
  Rank(int p, int rank) : team_(setup_of(p, rank)) {}

  Lane& lane(int index = 0) { return lanes_[index]; }
  /// Numbers of those that have ended, in that order.
  const std::vector<int>& ended(int index = 0) const { return ended_[index]; }
  Trip& trip(int number) { return trips_[number]; }

  void queue(int count, int index = 0) {
    for (int i = 0; i < count; ++i) {
      trips_.emplace_back(team_, static_cast<int>(trips_.size()), ended_[index]);
      lane(index).enqueue(trips_.back().flight);
    }
  }
  /// `segment`: null for one rank.
  void open(const std::shared_ptr<shm::Segment>& segment, int index = 0) {
    std::unique_ptr<shm::Endpoint> endpoint;
    if (segment) endpoint = std::make_unique<shm::Endpoint>(segment, team_.rank(), 0, index);
    lane(index).open(std::move(endpoint), MessagePort{});
  }
  void drive(int index = 0) {
    while (lane(index).front() != nullptr)
      if (!lane(index).advance()) std::this_thread::yield();
  }
  void expect_success() const {
    for (const Trip& trip : trips_) trip.expect_success();
  }

 private:
  Team team_;
  std::deque<Trip> trips_;
  std::array<std::vector<int>, 2> ended_;
  std::array<Lane, 2> lanes_;
};

std::shared_ptr<shm::Segment> segment_for(int p, int short_lanes = 0) {
  if (p == 1) return nullptr;
  shm::Geometry geometry;
  geometry.p = p;
  geometry.short_lanes = short_lanes;
  std::string error;
  auto segment = shm::Segment::in_process(geometry, error);
  EXPECT_NE(segment, nullptr) << error;
  return segment;
}

/// act(rank) on a thread for each rank.
template <class Act>
void on_all(int p, Act act) {
  std::vector<std::thread> threads;
  for (int r = 0; r < p; ++r) threads.emplace_back(act, r);
  for (std::thread& thread : threads) thread.join();
}

class Lanes : public testing::TestWithParam<int> {};

TEST_P(Lanes, KeepWhatComesBeforeTheyAreOpen) {
  constexpr int count = 12;  // every operation of the mix with every size
  const int p = GetParam();
  const auto segment = segment_for(p);
  on_all(p, [&](int r) {
    Rank rank(p, r);
    rank.queue(count);
    EXPECT_FALSE(rank.lane().is_open());
    EXPECT_FALSE(rank.lane().advance());
    EXPECT_EQ(rank.lane().front(), &rank.trip(0).flight);
    EXPECT_TRUE(rank.ended().empty());

    for (int i = 0; i < 100 * r; ++i) std::this_thread::yield();  // the first ones begin without the last
    rank.open(segment);
    EXPECT_TRUE(rank.lane().is_open());
    rank.drive();
    EXPECT_EQ(rank.ended(), numbers(0, count));
    rank.expect_success();
  });
}

TEST_P(Lanes, RunManyInTheOrderOfTheirQueue) {
  constexpr int bursts = 40;
  const int p = GetParam();
  const auto segment = segment_for(p);
  on_all(p, [&](int r) {
    Rank rank(p, r);
    rank.open(segment);
    for (int burst = 0; burst < bursts; ++burst) {  // ranks look after their lane more or less often
      rank.queue(3);
      if (burst % (r + 1) == 0) rank.lane().advance();
    }
    rank.drive();
    EXPECT_EQ(rank.ended(), numbers(0, 3 * bursts));
    rank.expect_success();
    EXPECT_FALSE(rank.lane().advance());
  });
}

TEST_P(Lanes, DoNotHoldUpEachOther) {
  constexpr int count = 6;
  const int p = GetParam();
  const auto segment = segment_for(p, 1);
  on_all(p, [&](int r) {
    Rank rank(p, r);
    for (const int index : {0, 1}) {
      rank.open(segment, index);
      rank.queue(count, index);
    }
    const bool late = r == 0;
    if (!late) rank.lane(0).advance();
    rank.drive(1);
    EXPECT_EQ(rank.ended(1), numbers(count, count));
    if (late) {
      EXPECT_EQ(rank.lane(0).front(), &rank.trip(0).flight);
    }
    rank.drive(0);
    EXPECT_EQ(rank.ended(0), numbers(0, count));
    rank.expect_success();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Lanes, testing::Values(1, 2, 3, 5));

/// An exchange of parts whose sizes all ranks have to learn first; other ones for each number. Rank `mistaken` expects
/// one word less than it gets from its left neighbor.
class Exchange {
 public:
  Exchange(Team& team, int number, int mistaken) : team_(team), number_(number) {
    const int p = team.p(), rank = team.rank(), left = (rank + p - 1) % p;
    for (int r = 0; r < p; ++r) {
      const Words to = part(rank, r), from = part(r, rank);
      send_.insert(send_.end(), to.begin(), to.end());
      send_counts_.push_back(to.size());
      want_.push_back(from);
      recv_counts_.push_back(from.size() - (rank == mistaken && r == left ? 1 : 0));
    }
    recv_.resize(std::accumulate(recv_counts_.begin(), recv_counts_.end(), std::size_t{0}));
    call_.operation = Operation::alltoallv;
    call_.element = sizeof(std::uint64_t);
    call_.send = send_.data();
    call_.recv = recv_.data();
    call_.send_counts = send_counts_;
    call_.recv_counts = recv_counts_;
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void run() { code_ = team_.run(call_); }

  /// In a lane's queue.
  void enqueue(Lane& lane) {
    first_ = team_.prepare(call_, Form::nonblocking);
    ASSERT_TRUE(first_->needs_all_counts);
    all_counts_.resize(want_.size() * want_.size());
    flight_.plan = {first_, &first_->plan};
    flight_.bases = bases_of(exchange_of_counts(call_, all_counts_.data()));
    flight_.context = this;
    flight_.go_on = [](void* self) { static_cast<Exchange*>(self)->go_on(); };
    flight_.ended = [](void* self, int code) { static_cast<Exchange*>(self)->code_ = code; };
    lane.enqueue(flight_);
  }

  /// `but`: whose part does not count.
  void expect(int code, int but = -1) const {
    EXPECT_EQ(code_, code) << "exchange " << number_;
    std::size_t at = 0;
    for (int r = 0; r < team_.p(); at += recv_counts_[r++]) {
      if (r == but) continue;
      EXPECT_TRUE(std::equal(want_[r].begin(), want_[r].end(), recv_.begin() + static_cast<std::ptrdiff_t>(at)))
          << "exchange " << number_ << ", from " << r << " to " << team_.rank();
    }
  }

 private:
  Words part(int from, int to) const {
    const int size = (from * 3 + to * 2 + number_) % 5;
    return words_of(from * team_.p() + to, number_, 1 + static_cast<std::size_t>(size) * 300);
  }
  void go_on() {
    call_.all_counts = all_counts_;
    flight_.plan = Team::second_stage(first_, call_);
    flight_.bases = bases_of(call_);
  }

  Team& team_;
  int number_;
  int code_ = 12345;  // no end has this
  Words send_, recv_;
  std::vector<Words> want_;
  std::vector<std::size_t> send_counts_, recv_counts_, all_counts_;
  Call call_;
  std::shared_ptr<Prepared> first_;
  Flight flight_;
};

/// Exchanges of p ranks, one after the other, in calls that wait or in a lane's queue.
void exchange(int p, int count, bool in_queue, int mistaken = -1) {
  const auto segment = segment_for(p);
  on_all(p, [&](int r) {
    Team team(setup_of(p, r));
    team.force(Operation::alltoallv, parse_choice(Operation::alltoallv, "tuna"));
    Lane nonblocking;
    Lane& lane = in_queue ? nonblocking : team.lane();
    std::deque<Exchange> exchanges;
    for (int i = 0; i < count; ++i) exchanges.emplace_back(team, i / 2, mistaken);  // all counts come twice
    if (in_queue)
      for (Exchange& one : exchanges) one.enqueue(lane);
    lane.open(segment ? std::make_unique<shm::Endpoint>(segment, r) : nullptr, MessagePort{});
    if (!in_queue)
      for (Exchange& one : exchanges) one.run();
    while (lane.front() != nullptr)
      if (!lane.advance()) std::this_thread::yield();
    for (const Exchange& one : exchanges) {
      if (r == mistaken) {
        one.expect(Lane::truncated, (r + p - 1) % p);
      } else {
        one.expect(0);
      }
    }
  });
}

TEST_P(Lanes, RunInTwoStages) {
  for (const bool in_queue : {false, true}) exchange(GetParam(), 20, in_queue);
}

/// The part from the left neighbor comes together with one that the mistaken rank has to pass on.
TEST(Lane, SaysThatOwnCountsAreWrongAndStillPassesOn) {
  for (const bool in_queue : {false, true}) exchange(4, 6, in_queue, 1);
}

TEST(Lane, LeavesTheHostAloneWhenItHasTo) {
  Rank rank(1, 0);
  rank.open(nullptr);
  rank.queue(3);
  rank.trip(1).flight.calls_host = true;
  EXPECT_TRUE(rank.lane().advance(false));
  EXPECT_EQ(rank.ended(), numbers(0, 1));
  EXPECT_FALSE(rank.lane().advance(false));  // nor does it overtake
  EXPECT_EQ(rank.lane().front(), &rank.trip(1).flight);
  EXPECT_TRUE(rank.lane().advance());
  EXPECT_EQ(rank.ended(), numbers(0, 3));
  rank.expect_success();
}

TEST(Lane, FailsAllThatWaitsForItToOpen) {
  Rank rank(1, 0);
  rank.queue(3);
  rank.lane().fail(7);
  EXPECT_EQ(rank.lane().front(), nullptr);
  EXPECT_EQ(rank.ended(), numbers(0, 3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rank.trip(i).code(), 7);

  rank.open(nullptr);  // what comes later is not concerned
  rank.queue(1);
  rank.drive();
  EXPECT_EQ(rank.ended(), numbers(0, 4));
  rank.trip(3).expect_success();
}

TEST(Lane, FailsAlsoWhatRuns) {
  const auto segment = segment_for(2);
  Rank rank(2, 0);  // the other one never comes
  rank.open(segment);
  rank.queue(3);
  EXPECT_TRUE(rank.lane().advance());
  EXPECT_EQ(rank.lane().front(), &rank.trip(0).flight);
  rank.lane().fail(7);
  EXPECT_EQ(rank.lane().front(), nullptr);
  EXPECT_EQ(rank.ended(), numbers(0, 3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rank.trip(i).code(), 7);
  EXPECT_FALSE(rank.lane().advance());
}

}  // namespace
}  // namespace omnes
