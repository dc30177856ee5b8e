// Waiting: what a waiter does as time passes, and that a sleeper is woken or wakes by itself.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "transport/shm/waiting.hpp"

namespace omnes::shm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

class WaitingTest : public testing::TestWithParam<bool> {
 protected:
  std::atomic<std::uint32_t> asleep_{0};
  int pokes_ = 0;
  WaitPolicy policy_{.oversubscribed = GetParam(),
                     .asleep = &asleep_,
                     .poke = [](void* pokes) { ++*static_cast<int*>(pokes); },
                     .context = &pokes_};
};

TEST_P(WaitingTest, SleepsOnlyAfterLongIdleTimeAndThenCostsLittle) {
  Waiter waiter(policy_);
  const auto start = Clock::now();
  while (asleep_ == 0) {
    waiter.pause();
    ASSERT_LT(Clock::now() - start, 10s);
  }
  EXPECT_GE(Clock::now() - start, 2ms);
  const double before = cpu_seconds();
  const auto slept_from = Clock::now();
  while (Clock::now() - slept_from < 200ms) waiter.pause();
  EXPECT_LT(cpu_seconds() - before, 0.1);
  waiter.reset();
  EXPECT_EQ(asleep_, 0U);
}

TEST_P(WaitingTest, PokesWhileItWaitsButNotAtOnce) {
  Waiter waiter(policy_);
  for (int i = 0; i < 12; ++i) waiter.pause();
  EXPECT_EQ(pokes_, 0);
  for (int i = 0; i < 1100; ++i) waiter.pause();
  EXPECT_GE(pokes_, 10);
}

TEST_P(WaitingTest, LeavesItsBedWhenItEnds) {
  {
    Waiter waiter(policy_);
    while (asleep_ == 0) waiter.pause();
  }
  EXPECT_EQ(asleep_, 0U);
}

TEST_P(WaitingTest, NeverSleepsWithoutABed) {
  policy_.asleep = nullptr;
  Waiter waiter(policy_);
  const auto start = Clock::now();
  while (Clock::now() - start < 10ms) waiter.pause();
  EXPECT_GT(pokes_, 0);
}

TEST_P(WaitingTest, GoesOnWhenAnotherThreadIsReady) {
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> ready{false};
    std::thread other([&] {
      while (asleep_.load() == 0) std::this_thread::yield();
      ready.store(true);
      wake_sleeper(asleep_);
    });
    Waiter waiter(policy_);
    while (!ready.load()) waiter.pause();
    waiter.reset();
    other.join();
  }
}

INSTANTIATE_TEST_SUITE_P(Crowded, WaitingTest, testing::Bool());

// The time-out alone would end a sleep in half a millisecond; nobody announces itself while the word is down.
TEST(Waiting, ReturnsFromASleepThatNobodyEnds) {
  std::atomic<std::uint32_t> asleep{0};
  const WaitPolicy policy{.oversubscribed = true, .asleep = &asleep};
  Waiter waiter(policy);
  while (asleep == 0) waiter.pause();
  const auto start = Clock::now();
  for (int i = 0; i < 10; ++i) waiter.pause();
  EXPECT_GE(Clock::now() - start, 1ms);
  EXPECT_LT(Clock::now() - start, 1s);
}

}  // namespace
}  // namespace omnes::shm
