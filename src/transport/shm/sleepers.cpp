// Looking at all who may sleep.
#include "transport/shm/sleepers.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <iterator>
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

// Begins behind this CPU, so that those who look on several CPUs at once find different ones.
int emptier_cpu(int here, std::span<SleepWord* const> words, std::span<const int> cpus) {
  if (here < 0 || here >= CPU_SETSIZE) return -1;
  std::array<int, CPU_SETSIZE> awake{};
  for (const SleepWord* word : words) {
    const int cpu = word->cpu.load(std::memory_order_relaxed) - 1;
    if (cpu >= 0 && cpu < CPU_SETSIZE && word->asleep() == 0) ++awake[cpu];
  }
  int found = -1, least = awake[here];
  const auto look_at = [&](int cpu) {
    if (cpu < CPU_SETSIZE && awake[cpu] < least) found = cpu, least = awake[cpu];
  };
  const auto behind = std::ranges::upper_bound(cpus, here);
  std::for_each(behind, cpus.end(), look_at);
  std::for_each(cpus.begin(), behind, look_at);
  return found;
}

Spreading::Spreading(SleepWord& own, std::vector<SleepWord*> others, std::vector<int> (*usable)(),
                     std::vector<int> (*near)(int cpu))
    : own_(own), others_(std::move(others)), find_usable_(usable), find_near_(near), usable_(usable()) {}

void Spreading::look() {
  const int here = say_where(own_);
  if (!may_move_ || emptier_cpu(here, others_, usable_) < 0) return;
  usable_ = find_usable_();  // the program or its user may have bound it since
  if (!std::ranges::binary_search(near_, here)) near_ = find_near_(here);
  std::vector<int> near_usable;
  std::ranges::set_intersection(usable_, near_.empty() ? usable_ : near_, std::back_inserter(near_usable));
  if (const int there = emptier_cpu(here, others_, near_usable); there >= 0) go(here, there);
}

void Spreading::go(int here, int there) {
  own_.cpu.store(there + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // of two who go to one CPU at once, one sees the other
  cpu_set_t before, only_there, now;
  CPU_ZERO(&only_there);
  CPU_SET(there, &only_there);
  const bool emptier_yet = emptier_cpu(here, others_, std::span(&there, 1)) == there;
  if (emptier_yet && sched_getaffinity(0, sizeof before, &before) == 0) {
    may_move_ = sched_setaffinity(0, sizeof only_there, &only_there) == 0;
    // Whoever has bound this thread meanwhile is not to be undone.
    const bool still = may_move_ && sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &only_there);
    if (still && sched_setaffinity(0, sizeof before, &before) != 0) sched_setaffinity(0, sizeof before, &before);
  }
  say_where(own_);
}

}  // namespace omnes::shm
