// Looking at all who may sleep.
#include "transport/shm/sleepers.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
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

bool share_cpu(SleepWord& own, std::span<SleepWord* const> words) {
  const int here = say_where(own) + 1;
  return std::ranges::any_of(words, [&](const SleepWord* word) {
    if (!word || word == &own) return false;
    const int there = word->cpu.load(std::memory_order_relaxed);
    return there == here || there == 0;
  });
}

int emptier_cpu(SleepWord& own, std::span<SleepWord* const> words, std::span<const int> cpus) {
  std::array<int, CPU_SETSIZE> awake{};
  const auto count = [&](int cpu) -> int& { return awake[std::clamp(cpu, 0, CPU_SETSIZE - 1)]; };
  const int here = say_where(own);
  ++count(here);
  for (const SleepWord* word : words) {
    if (!word || word == &own || word->asleep() > 0) continue;
    if (const int there = word->cpu.load(std::memory_order_relaxed); there > 0) ++count(there - 1);
  }
  const auto least = std::ranges::min_element(cpus, {}, count);
  return least != cpus.end() && count(*least) + 2 <= count(here) ? *least : -1;
}

// It says so first: others that look meanwhile count it there.
void go_to(int cpu, SleepWord& own) {
  cpu_set_t usable, there;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0 || !CPU_ISSET(cpu, &usable)) return;
  CPU_ZERO(&there);
  CPU_SET(cpu, &there);
  own.cpu.store(cpu + 1, std::memory_order_relaxed);
  if (sched_setaffinity(0, sizeof there, &there) == 0) sched_setaffinity(0, sizeof usable, &usable);
}

}  // namespace omnes::shm
