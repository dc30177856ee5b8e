// Waiting: what a waiter does as time passes, on a clock of the test's own; and on the real one, that a sleeper is woken
// or wakes by itself.
#include <gtest/gtest.h>

#include <thread>

#include "transport/shm/waiting.hpp"

namespace omnes::shm {
namespace {

constexpr std::int64_t us = 1000, ms = 1000 * us;  // in ns

/// Time passes only by what a waiter does.
class TestSystem final : public System {
 public:
  std::int64_t now() override { return time; }
  void relax() override { time += 20; }
  void yield() override {
    ++yields;
    time += yield_takes;
  }
  void nap(std::int64_t ns) override {
    ++naps;
    time += ns + 50 * us;  // as the kernel's timer slack
  }
  void sleep(std::atomic<std::uint32_t>& bed, std::int64_t at_most) override {
    ++sleeps;
    if (bed == 1) time += at_most;
  }

  std::int64_t time = 0;
  std::int64_t yield_takes = 300;  // ns; nobody else wants the CPU
  int yields = 0, naps = 0, sleeps = 0;
};

class WaitingTest : public testing::TestWithParam<bool> {
 protected:
  void wait_for(Waiter& waiter, std::int64_t ns) {
    for (const std::int64_t end = system_.time + ns; system_.time < end;) waiter.pause();
  }
  /// Until it goes to bed; returns how long that took, at most a second.
  std::int64_t wait_for_bed(Waiter& waiter) {
    const std::int64_t start = system_.time;
    while (asleep_ == 0 && system_.time < start + 1000 * ms) waiter.pause();
    return system_.time - start;
  }

  TestSystem system_;
  std::atomic<std::uint32_t> asleep_{0};
  int pokes_ = 0;
  WaitPolicy policy_{.oversubscribed = GetParam(),
                     .asleep = &asleep_,
                     .poke = [](void* pokes) { ++*static_cast<int*>(pokes); },
                     .context = &pokes_,
                     .system = &system_};
};

TEST_P(WaitingTest, SleepsOnlyAfterLongIdleTimeAndThenCostsLittle) {
  Waiter waiter(policy_);
  const std::int64_t idle = wait_for_bed(waiter);
  EXPECT_GE(idle, 2 * ms);
  EXPECT_LT(idle, 3 * ms);
  const int yields_before = system_.yields;
  wait_for(waiter, 200 * ms);
  EXPECT_EQ(system_.yields, yields_before);
  EXPECT_GE(system_.sleeps, 200);
  EXPECT_LE(system_.sleeps, 500);
  waiter.reset();
  EXPECT_EQ(asleep_, 0U);
}

TEST_P(WaitingTest, PokesWhileItWaitsButNotAtOnce) {
  Waiter waiter(policy_);
  for (int i = 0; i < 12; ++i) waiter.pause();
  EXPECT_EQ(pokes_, 0);
  wait_for(waiter, 100 * us);
  EXPECT_GE(pokes_, 10);
}

TEST_P(WaitingTest, LeavesItsBedWhenItEnds) {
  {
    Waiter waiter(policy_);
    wait_for_bed(waiter);
    EXPECT_EQ(asleep_, 1U);
  }
  EXPECT_EQ(asleep_, 0U);
}

TEST_P(WaitingTest, GoesToBedAnewAfterItHasBeenWoken) {
  Waiter waiter(policy_);
  wait_for_bed(waiter);
  asleep_ = 0;
  waiter.pause();  // finds its bed left
  EXPECT_EQ(asleep_, 0U);
  wait_for_bed(waiter);
  EXPECT_EQ(asleep_, 1U);
}

TEST_P(WaitingTest, NeverSleepsWithoutABed) {
  policy_.asleep = nullptr;
  Waiter waiter(policy_);
  wait_for(waiter, 10 * ms);
  EXPECT_GT(pokes_, 0);
  EXPECT_EQ(system_.sleeps, 0);
}

TEST_P(WaitingTest, NeverSleepsWhileNewsMayComeByOtherWays) {
  const std::atomic<int> others{1};
  policy_.others = &others;
  Waiter waiter(policy_);
  wait_for(waiter, 10 * ms);
  EXPECT_EQ(system_.sleeps, 0);
}

INSTANTIATE_TEST_SUITE_P(Crowded, WaitingTest, testing::Bool());

class WhereYieldsDoNotReach : public WaitingTest {
 protected:
  WhereYieldsDoNotReach() { policy_.yields_reach = false; }
};

TEST_P(WhereYieldsDoNotReach, SleepsSoon) {
  Waiter waiter(policy_);
  EXPECT_LT(wait_for_bed(waiter), 10 * us);
}

TEST_P(WhereYieldsDoNotReach, NapsWithoutABed) {
  policy_.asleep = nullptr;
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
  for (const bool crowded : {false, true}) {
    for (int i = 0; i < 20; ++i) {
      std::atomic<std::uint32_t> asleep{0};
      std::atomic<bool> ready{false};
      std::thread other([&] {
        while (asleep.load() == 0) std::this_thread::yield();
        ready.store(true);
        wake_sleeper(asleep);
      });
      const WaitPolicy policy{.oversubscribed = crowded, .asleep = &asleep};
      Waiter waiter(policy);
      while (!ready.load()) waiter.pause();
      waiter.reset();
      other.join();
    }
  }
}

TEST(Waiting, ReturnsFromASleepThatNobodyEnds) {
  std::atomic<std::uint32_t> asleep{0};
  const WaitPolicy policy{.oversubscribed = true, .asleep = &asleep};
  Waiter waiter(policy);
  while (asleep == 0) waiter.pause();
  for (int i = 0; i < 10; ++i) waiter.pause();
}

}  // namespace
}  // namespace omnes::shm
