// Waiting: what a waiter does as time passes, on a clock of the test's own; and on the real one, that a sleeper is woken
// or wakes by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "transport/shm/waiting.hpp"

namespace omnes::shm {
namespace {

constexpr std::int64_t us = 1000, ms = 1000 * us;  // in ns

/// Time passes only by what a waiter does.
class TestSystem final : public System {
 public:
  std::int64_t now() override { return time; }
  void relax() override { time += stands_still ? 0 : 20; }
  void yield() override {
    ++yields;
    ++preempted;
    time += stands_still ? 0 : yield_takes;
  }
  void nap(std::int64_t ns) override {
    ++naps;
    time += ns + nap_takes;
  }
  void sleep(std::atomic<std::uint32_t>& word, std::uint32_t while_it_is, std::int64_t at_most) override {
    ++sleeps;
    if (word == while_it_is) time += at_most;
  }
  Strangers& strangers() override { return known; }
  std::int64_t preemptions() override { return preempted; }

  Strangers known;
  std::int64_t time = 0, preempted = 0;
  bool stands_still = false;         // as long as it does not sleep
  std::int64_t yield_takes = 300;    // ns; nobody else wants the CPU
  std::int64_t nap_takes = 50 * us;  // and as long as it is meant to: the kernel's timer slack
  int yields = 0, naps = 0, sleeps = 0;
};

void pause_for(std::int64_t ns, Waiter& waiter, const TestSystem& system) {
  for (const std::int64_t end = system.time + ns; system.time < end;) waiter.pause();
}

class WaitingTest : public testing::TestWithParam<bool> {
 protected:
  void wait_for(Waiter& waiter, std::int64_t ns) { pause_for(ns, waiter, system_); }
  /// Until it sleeps; returns how long that took, at most a second.
  std::int64_t wait_for_bed(Waiter& waiter) {
    const std::int64_t start = system_.time;
    while (word_.asleep() == 0 && system_.time < start + 1000 * ms) waiter.pause();
    return system_.time - start;
  }
  /// The host is looked at.
  static void look(void* test) {
    auto& self = *static_cast<WaitingTest*>(test);
    const std::int64_t now = self.system_.time;
    if (self.looks_++ > 0) self.longest_gap_ = std::max(self.longest_gap_, now - self.last_look_);
    self.system_.time += self.look_takes_;
    self.last_look_ = self.system_.time;
  }

  TestSystem system_;
  SleepWord word_{};
  std::int64_t look_takes_ = 30;  // ns
  int looks_ = 0;
  std::int64_t last_look_ = 0, longest_gap_ = 0;
  WaitPolicy policy_{.oversubscribed = GetParam(),  //
                     .sleep_word = &word_,
                     .poke = look,
                     .context = this,
                     .system = &system_};
};

TEST_P(WaitingTest, LeavesTheHostAloneInShortWaits) {
  Waiter waiter(policy_);
  wait_for(waiter, 500);
  EXPECT_EQ(looks_, 0);
  wait_for(waiter, 10 * us);
  EXPECT_GE(looks_, 10);
}

TEST_P(WaitingTest, TellsHowLongItIsSinceTheFirstLongWait) {
  Waiter waiter(policy_);
  for (int pauses = 0; pauses < 8; ++pauses) waiter.pause();
  EXPECT_EQ(waiter.waited(), 0) << "it reads no clock";
  constexpr std::int64_t unseen = 5 * us;
  const std::int64_t begun = system_.time;
  wait_for(waiter, 1 * ms);
  EXPECT_GE(waiter.waited(), system_.time - begun - unseen);
  waiter.reset();
  wait_for(waiter, 1 * ms);
  EXPECT_GE(waiter.waited(), system_.time - begun - unseen);
  EXPECT_LE(waiter.waited(), system_.time - begun);
}

// What a look takes is measured: cheap ones are many, dear ones few, but never more than some us apart. A rank with a CPU of its own has nothing
// better to do in a long wait.
TEST_P(WaitingTest, LooksAtTheHostForAShareOfTheTime) {
  struct Case {
    std::int64_t look_takes, longest_gap, max_time;  // ns in 1 ms
  };
  for (const Case& one : {Case{30, 1 * us, 130 * us}, {200, 2500, 150 * us}, {3 * us, 6 * us, 450 * us}}) {
    look_takes_ = one.look_takes;
    looks_ = 0;
    longest_gap_ = 0;
    Waiter waiter(policy_);
    wait_for(waiter, 1 * ms);
    EXPECT_LE(longest_gap_, one.longest_gap) << look_takes_;
    EXPECT_LE(looks_ * look_takes_, GetParam() ? one.max_time : 1 * ms / 2 + look_takes_) << look_takes_;
    longest_gap_ = 0;
    wait_for(waiter, 100 * us);
    EXPECT_LE(longest_gap_, GetParam() ? one.longest_gap : look_takes_ + 600) << look_takes_;  // with a yield
  }
}

TEST_P(WaitingTest, LooksAtTheHostThoughTheClockStandsStill) {
  Waiter waiter(policy_);
  wait_for(waiter, 100 * us);
  system_.stands_still = true;
  look_takes_ = 0;
  looks_ = 0;
  for (int pauses = 0; pauses < 10'000; ++pauses) waiter.pause();
  EXPECT_GE(looks_, 1000);
}

TEST_P(WaitingTest, LooksAgainAtOnceWhereTheHostHadSomethingToDo) {
  look_takes_ = 200;
  Waiter waiter(policy_);
  wait_for(waiter, 100 * us);
  for (int i = 0; i < 10; ++i) {
    const int before = looks_;
    look_takes_ = 1 * us;
    while (looks_ == before) waiter.pause();
    look_takes_ = 200;
    const std::int64_t found = system_.time;
    while (looks_ == before + 1) waiter.pause();
    EXPECT_LE(system_.time - found, 800);
  }
}

TEST_P(WaitingTest, SleepsAsEarlyAsThePolicySays) {
  policy_.sleep_after = 50 * us;
  Waiter waiter(policy_);
  const std::int64_t idle = wait_for_bed(waiter);
  if (!GetParam()) return;
  EXPECT_GE(idle, 50 * us);
  EXPECT_LT(idle, 60 * us);
}

TEST_P(WaitingTest, SleepsOnlyAmongRanksThatShareCpusAfterLongIdleTime) {
  Waiter waiter(policy_);
  const std::int64_t idle = wait_for_bed(waiter);
  if (!GetParam()) {
    EXPECT_EQ(word_.asleep(), 0U);
    return;
  }
  EXPECT_GE(idle, 2 * ms);
  EXPECT_LT(idle, 3 * ms);
  const int yields_before = system_.yields, looks_before = looks_;
  wait_for(waiter, 200 * ms);
  EXPECT_EQ(system_.yields, yields_before);
  EXPECT_GE(system_.sleeps, 200);
  EXPECT_LE(system_.sleeps, 500);
  EXPECT_EQ(looks_ - looks_before, system_.sleeps);  // before each
  waiter.reset();
  EXPECT_EQ(word_.asleep(), 0U);
}

// Stock MPIs spin, and so get half of a CPU that another program wants, too.
TEST(Waiting, KeepsHalfOfItsOwnCpu) {
  TestSystem system;
  system.yield_takes = 4 * ms;
  const WaitPolicy policy{.may_nap = false, .system = &system};
  Waiter waiter(policy);
  while (system.time < 1000 * ms) waiter.pause();
  EXPECT_EQ(system.naps, 0);
  EXPECT_GE(system.yields, 100);
  EXPECT_LE(system.yields, 126);
}

// Also in short waits one after the other; but where it is another rank that wants the CPU, this one may be waiting for it each time.
TEST(Waiting, KeepsHalfOfItsOwnCpuFromStrangersOnly) {
  for (const bool shared : {false, true}) {
    TestSystem system;
    system.yield_takes = 4 * ms;
    const WaitPolicy policy{.may_nap = false,
                            .shares_cpu = [](const void* shared) { return *static_cast<const bool*>(shared); },
                            .by = &shared,
                            .system = &system};
    while (system.time < 1000 * ms) {
      Waiter waiter(policy);
      pause_for(60 * us, waiter, system);
    }
    EXPECT_GE(system.yields, shared ? 240 : 100);
    EXPECT_LE(system.yields, shared ? 250 : 126);
  }
}

class WithStrangersOnItsCpu : public testing::Test {
 protected:
  WithStrangersOnItsCpu() { wait_often(1 * ms); }
  void pause_for(std::int64_t ns) { shm::pause_for(ns, waiter_, system_); }
  void wait_often(std::int64_t ns) {
    for (int i = 0; i < 100; ++i) {
      Waiter waiter(policy_);
      shm::pause_for(ns, waiter, system_);
    }
    system_.yields = 0;
  }
  static void look(void* test) {
    auto& self = *static_cast<WithStrangersOnItsCpu*>(test);
    self.system_.time += self.look_takes_;
  }

  TestSystem system_;
  std::int64_t look_takes_ = 30;  // ns
  WaitPolicy policy_{.system = &system_};
  Waiter waiter_{policy_};
};

TEST_F(WithStrangersOnItsCpu, NapsAfterAYieldThatTookATimeSlice) {
  system_.yield_takes = 4 * ms;
  pause_for(1000 * ms);
  EXPECT_GE(system_.yields, 2);
  EXPECT_LE(system_.yields, 6);
  EXPECT_GE(system_.naps, 10'000);
}

TEST_F(WithStrangersOnItsCpu, NapsAfterItWasAwayForATimeSlice) {
  pause_for(100 * us);
  EXPECT_EQ(system_.naps, 0);
  system_.time += 3 * ms;
  ++system_.preempted;
  pause_for(1 * ms);
  EXPECT_GE(system_.naps, 10);
}

// What the kernel's timers add to naps says nothing of strangers.
TEST_F(WithStrangersOnItsCpu, SpinsOnceTheyAreGoneHoweverLongNapsAre) {
  for (const std::int64_t timers : {50 * us, 2 * ms}) {
    system_.known.shortest_nap = 0;  // another machine
    system_.nap_takes = timers;
    system_.yield_takes = 1 * ms;
    const int none = system_.naps;
    pause_for(2 * ms);
    EXPECT_GT(system_.naps, none);
    system_.yield_takes = 300;
    pause_for(100 * ms);
    const int before = system_.naps;
    pause_for(10 * ms);
    EXPECT_EQ(system_.naps, before);
  }
}

TEST_F(WithStrangersOnItsCpu, NapsOnWhileTheyKeepItFromWakingUp) {
  system_.yield_takes = 1 * ms;
  pause_for(2 * ms);
  system_.yield_takes = 300;
  system_.nap_takes = 2 * ms;
  const int before = system_.naps;
  pause_for(200 * ms);
  EXPECT_GE(system_.naps - before, 90);
}

// The naps themselves make waits longer.
TEST_F(WithStrangersOnItsCpu, SpinsOnceMostWaitsAreShort) {
  system_.yield_takes = 4 * ms;
  wait_often(60 * us);
  const int before = system_.naps;
  pause_for(100 * ms);
  EXPECT_EQ(system_.naps, before);
}

TEST_F(WithStrangersOnItsCpu, DoesNotNapWhileTheHostHasSomethingToDo) {
  policy_.poke = look;
  policy_.context = this;
  Waiter waiter(policy_);
  system_.yield_takes = 4 * ms;
  shm::pause_for(10 * ms, waiter, system_);
  EXPECT_GE(system_.naps, 10);
  look_takes_ = 5 * us;
  const int before = system_.naps;
  shm::pause_for(10 * ms, waiter, system_);
  EXPECT_EQ(system_.naps, before);
}

TEST_F(WithStrangersOnItsCpu, DoesNotNapForAnotherRankOnItsCpu) {
  policy_.shares_cpu = [](const void*) { return true; };
  system_.yield_takes = 4 * ms;
  pause_for(100 * ms);
  EXPECT_EQ(system_.naps, 0);
}

TEST_F(WithStrangersOnItsCpu, DoesNotNapInShortWaits) {
  system_.yield_takes = 4 * ms;
  pause_for(10 * ms);
  const int before = system_.naps;
  for (int i = 0; i < 100; ++i) {
    waiter_.reset();
    pause_for(10 * us);
  }
  EXPECT_EQ(system_.naps, before);
}

TEST_F(WithStrangersOnItsCpu, DoesNotNapWhereMostWaitsAreShort) {
  wait_often(15 * us);
  system_.yield_takes = 4 * ms;
  pause_for(100 * ms);
  EXPECT_EQ(system_.naps, 0);
}

// A poll that moves much data takes long, too.
TEST_F(WithStrangersOnItsCpu, DoesNotTakeLongPollsForThem) {
  for (int i = 0; i < 100; ++i) {
    system_.time += 2 * ms;
    waiter_.pause();
    if (i % 10 == 0) pause_for(50 * us);
  }
  EXPECT_EQ(system_.naps, 0);
}

// Who has many messages under way looks at all of them between two pauses.
TEST(Waiting, YieldsItsOwnCpuAfterATimeWhateverItsPollsTake) {
  TestSystem system;
  const WaitPolicy policy{.system = &system};
  Waiter waiter(policy);
  while (system.yields == 0) {
    system.time += 300;
    waiter.pause();
  }
  EXPECT_LE(system.time, 100 * us);
}

TEST_P(WaitingTest, NeverSleepsWithoutABed) {
  policy_.sleep_word = nullptr;
  Waiter waiter(policy_);
  wait_for(waiter, 10 * ms);
  EXPECT_GT(looks_, 0);
  EXPECT_EQ(system_.sleeps, 0);
}

TEST_P(WaitingTest, NeverSleepsWhileNewsMayComeByOtherWays) {
  const std::atomic<int> others{1};
  policy_.others = &others;
  Waiter waiter(policy_);
  wait_for(waiter, 10 * ms);
  EXPECT_EQ(system_.sleeps, 0);
}

TEST_P(WaitingTest, NeedsNoHost) {
  policy_.poke = nullptr;
  Waiter waiter(policy_);
  wait_for(waiter, 10 * ms);
  EXPECT_EQ(word_.asleep(), GetParam() ? 1U : 0U);
}

INSTANTIATE_TEST_SUITE_P(Crowded, WaitingTest, testing::Bool());

class AmongRanksThatShareCpus : public WaitingTest {};

TEST_P(AmongRanksThatShareCpus, LeavesItsBedWhenItEnds) {
  {
    Waiter waiter(policy_);
    wait_for_bed(waiter);
    EXPECT_EQ(word_.asleep(), 1U);
  }
  EXPECT_EQ(word_.asleep(), 0U);
}

TEST_P(AmongRanksThatShareCpus, LeavesItToTheOtherThreadsOfItsProcess) {
  Waiter other(policy_);
  wait_for_bed(other);
  {
    Waiter waiter(policy_);
    for (const std::int64_t start = system_.time; system_.time < start + 10 * ms;) waiter.pause();
  }
  EXPECT_EQ(word_.asleep(), 1U);
  other.reset();
  EXPECT_EQ(word_.asleep(), 0U);
}

// A thread that is about to sleep while it is woken, and another that announces its own sleep just then.
TEST_P(AmongRanksThatShareCpus, DoesNotTakeAnothersAnnouncementForItsOwn) {
  Waiter woken(policy_);
  wait_for_bed(woken);
  wake_sleeper(word_);
  Waiter other(policy_);
  wait_for_bed(other);
  woken.pause();
  EXPECT_EQ(system_.sleeps, 0);
  EXPECT_EQ(word_.asleep(), 1U);
  other.pause();
  EXPECT_EQ(system_.sleeps, 1);
}

// Linux puts those who are woken at once on one CPU, and leaves them there for tens of ms.
TEST_P(AmongRanksThatShareCpus, LooksForAnEmptierCpuWhenItHasBeenWoken) {
  int looks = 0;
  policy_.spread_out = [](const void* looks) { ++*static_cast<int*>(const_cast<void*>(looks)); };
  policy_.by = &looks;
  Waiter waiter(policy_);
  wait_for_bed(waiter);
  wait_for(waiter, 10 * ms);
  EXPECT_EQ(looks, 0) << "it has slept, and nobody has woken it";
  EXPECT_GT(word_.cpu, 0);
  wake_sleeper(word_);
  waiter.pause();
  EXPECT_EQ(looks, 1);
  wait_for(waiter, 50 * us);
  EXPECT_EQ(looks, 1);
}

TEST_P(AmongRanksThatShareCpus, StaysAwakeForAWhileWhenItHasBeenWoken) {
  Waiter waiter(policy_);
  wait_for_bed(waiter);
  wake_sleeper(word_);
  waiter.pause();  // finds that it was woken
  const int looks_before = looks_;
  const std::int64_t awake = wait_for_bed(waiter);
  EXPECT_GE(awake, 100 * us);
  EXPECT_LE(awake, 200 * us);
  EXPECT_GE(looks_ - looks_before, 50);
}

// Open MPI's progress engine yields, when told to, where it finds nothing to do.
TEST_P(AmongRanksThatShareCpus, DoesNotYieldOnceMoreWhereTheHostHas) {
  look_takes_ = 8 * us;
  Waiter waiter(policy_);
  const std::int64_t start = system_.time;
  while (word_.asleep() == 0 && system_.time < start + 10 * ms) {
    const int looks_before = looks_, yields_before = system_.yields;
    waiter.pause();
    ASSERT_LE(looks_ - looks_before + system_.yields - yields_before, 1);
  }
  EXPECT_EQ(word_.asleep(), 1U);
  EXPECT_GT(looks_, 100);
}

TEST_P(AmongRanksThatShareCpus, SleepsNoLongerThanAsked) {
  policy_.longest_sleep = 50 * us;
  Waiter waiter(policy_);
  wait_for_bed(waiter);
  longest_gap_ = 0;
  wait_for(waiter, 10 * ms);
  EXPECT_GE(longest_gap_, 50 * us);
  EXPECT_LE(longest_gap_, 60 * us);
}

INSTANTIATE_TEST_SUITE_P(Crowded, AmongRanksThatShareCpus, testing::Values(true));

class WhereYieldsDoNotReach : public WaitingTest {
 protected:
  WhereYieldsDoNotReach() { policy_.yields_reach = false; }
};

TEST_P(WhereYieldsDoNotReach, SleepsSoon) {
  Waiter waiter(policy_);
  EXPECT_LT(wait_for_bed(waiter), 10 * us);
}

TEST_P(WhereYieldsDoNotReach, NapsWithoutABed) {
  policy_.sleep_word = nullptr;
  Waiter waiter(policy_);
  wait_for(waiter, 10 * ms);
  EXPECT_GE(system_.naps, 100);
}

TEST_P(WhereYieldsDoNotReach, YieldsOnWhileSomebodyTakesThem) {
  system_.yield_takes = 10 * us;
  Waiter waiter(policy_);
  EXPECT_GE(wait_for_bed(waiter), 2 * ms);
}

INSTANTIATE_TEST_SUITE_P(Crowded, WhereYieldsDoNotReach, testing::Values(true));

// The real system: these end, however long that takes.
TEST(Waiting, GoesOnWhenAnotherThreadIsReady) {
  for (int i = 0; i < 20; ++i) {
    SleepWord word{};
    std::atomic<bool> ready{false};
    std::thread other([&] {
      while (word.asleep() == 0) std::this_thread::yield();
      ready.store(true);
      wake_sleeper(word);
    });
    const WaitPolicy policy{.oversubscribed = true, .sleep_word = &word};
    Waiter waiter(policy);
    while (!ready.load()) waiter.pause();
    waiter.reset();
    other.join();
  }
}

TEST(Waiting, ReturnsFromASleepThatNobodyEnds) {
  SleepWord word{};
  const WaitPolicy policy{.oversubscribed = true, .sleep_word = &word};
  Waiter waiter(policy);
  while (word.asleep() == 0) waiter.pause();
  for (int i = 0; i < 10; ++i) waiter.pause();
}

}  // namespace
}  // namespace omnes::shm
