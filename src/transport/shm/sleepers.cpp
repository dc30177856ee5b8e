// Looking at all who may sleep.
#include "transport/shm/sleepers.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace omnes::shm {

namespace {

// Programs that test for messages in a loop ask with each turn on their CPU, and the fence and the words of all ranks make
// a turn 3 to 5 % longer: so many calls go without a look, unless the last one found somebody asleep.
constexpr std::uint32_t max_calls_without = 3;

struct Watched {
  std::vector<SleepWord*> others;
  bool fence = false;
  std::atomic<std::uint32_t> without{0};  // calls between the last look and the next one
};
auto& watched = *new Watched;  // never destroyed: threads of the host may look at it until the process ends

}  // namespace

SleeperLooks sleeper_looks;

void watch_sleepers(std::vector<SleepWord*> others, bool fence) {
  watched.others = std::move(others);
  watched.fence = fence;
  sleeper_looks.any.store(!watched.others.empty(), std::memory_order_release);
}

void wake_all_sleepers() {
  if (watched.fence) [[unlikely]]
    std::atomic_thread_fence(std::memory_order_seq_cst);
  bool any = false;
  for (SleepWord* const word : watched.others) any |= wake_if_asleep(*word);
  const std::uint32_t before = watched.without.load(std::memory_order_relaxed);
  const std::uint32_t without = any ? 0 : std::min(before + 1, max_calls_without);
  watched.without.store(without, std::memory_order_relaxed);
  sleeper_looks.calls_to_go.store(without, std::memory_order_relaxed);
}

// What is read needs no order: it may have changed anyway.
bool share_cpu(SleepWord& own, std::span<SleepWord* const> words) {
  const int here = sched_getcpu() + 1;
  own.cpu.store(here, std::memory_order_relaxed);
  return std::ranges::any_of(words, [&](const SleepWord* word) {
    if (!word || word == &own) return false;
    const int there = word->cpu.load(std::memory_order_relaxed);
    return there == here || there == 0;
  });
}

}  // namespace omnes::shm
