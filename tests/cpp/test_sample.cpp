// Which calls are kept: the same on all ranks, spread over any loop of a program, and no more than there is room for.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/prepared.hpp"
#include "runtime/sample.hpp"

namespace omnes {
namespace {

/// The calls of a sample after so many.
Sample after(std::uint64_t calls, std::size_t most) {
  Sample sample(most);
  for (std::uint64_t i = 1; i <= calls; ++i)
    if (sample.takes()) sample.add(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1, 0, 0);
  return sample;
}

std::vector<std::uint64_t> numbers(const Sample& sample) {
  std::vector<std::uint64_t> found;
  for (const TimedCall& call : sample.timed()) found.push_back(call.number);
  return found;
}

TEST(Sample, KeepsAllUntilThereIsNoRoom) {
  const Sample sample = after(63, 64);
  EXPECT_EQ(sample.timed().size(), 63u);
}

TEST(Sample, KeepsNoMoreThanThereIsRoomFor) {
  for (const std::uint64_t calls : {64, 100, 1000, 100'000}) {
    const Sample sample = after(calls, 64);
    EXPECT_LT(sample.timed().size(), 64u);
    EXPECT_GT(sample.timed().size(), 16u);
    EXPECT_EQ(sample.calls(), calls);
  }
}

TEST(Sample, WithLessRoomKeepsSomeOfTheSame) {
  std::vector<std::uint64_t> many = numbers(after(10'000, 512)), few = numbers(after(10'000, 64));
  EXPECT_TRUE(std::ranges::includes(many, few));
  Sample thinned = after(10'000, 512);
  thinned.thin_to(40);
  EXPECT_LE(thinned.timed().size(), 40u);
  EXPECT_TRUE(std::ranges::includes(many, numbers(thinned)));
}

/// A program whose loop has `period` calls of a kind: each of its places is kept about as often.
TEST(Sample, MissesNoPlaceOfALoop) {
  for (const int period : {2, 3, 4, 8, 13, 16, 21, 64}) {
    std::vector<double> seen(period);
    for (const std::uint64_t number : numbers(after(1'000'000, 4096))) seen[number % period] += 1;
    const auto [fewest, most] = std::ranges::minmax(seen);
    EXPECT_GT(fewest, 0.6 * most) << period;
  }
}

/// Two take turns in making the calls of a sample, each with what is lent to it.
TEST(Sample, CallsThatAreMadeWithLentOnesCount) {
  Sample sample(64);
  Lent lent[2];
  std::uint64_t made[2] = {};
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const auto who = i / 7 % 2;
    ++made[who];
    if (lent[who].take()) continue;
    --made[who];
    if (sample.takes()) sample.add(0, 1, 0, 0);
    sample.lend(lent[who]);
  }
  sample.take_back();
  EXPECT_EQ(sample.calls(), 10'000u);
  EXPECT_EQ(numbers(sample), numbers(after(10'000, 64)));
  for (const int who : {0, 1}) {
    EXPECT_GT(made[who], 1000u);
    EXPECT_EQ(lent[who].before, made[who]);
  }
}

TEST(Counted, CallsThatWereNotTimedTookAsLongAsTheOneBeforeAndTheirWaits) {
  Prepared::Counted of;
  of.time(2e-6);
  of.usual = 1000;
  of.untimed = 3;
  of.waited = 500;
  of.time(4e-6);
  EXPECT_NEAR(of.seconds, (2 + 3 * 1 + 0.5 + 4) * 1e-6, 1e-12);
  EXPECT_EQ(of.fastest, 2e-6);
  of.usual = 2000;
  of.untimed = 1;
  of.take_untimed();
  EXPECT_NEAR(of.seconds, (9.5 + 2) * 1e-6, 1e-12);
  of.take_untimed();
  EXPECT_NEAR(of.seconds, 11.5e-6, 1e-12) << "once";
}

TEST(Samples, ACallThatCameEarlierBeganThen) {
  Samples samples;
  const auto later_than = [](std::int64_t ns) {
    while (monotonic_ns() <= ns) {
    }
  };
  samples.come();
  const std::int64_t come = monotonic_ns();
  later_than(come);
  EXPECT_LE(samples.begin(), come);
  EXPECT_GT(samples.begin(), come) << "only once";
  samples.come();
  const std::int64_t again = monotonic_ns();
  samples.forget();
  later_than(again);
  EXPECT_GT(samples.begin(), again);
}

}  // namespace
}  // namespace omnes
