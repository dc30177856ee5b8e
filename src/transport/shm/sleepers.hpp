// Waking the other ranks of the node for something else than messages of an endpoint; and where they run.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/shm/waiting.hpp"

namespace omnes::shm {

/// Where the other ranks of this node sleep; none: they never do. `fence`: they sleep often, and none is to be missed.
/// Once in a process, before any of them sleeps.
void watch_sleepers(std::vector<SleepWord*> others, bool fence);

/// Not to be used but by wake_sleepers().
void wake_all_sleepers();
/// In one cache line.
struct alignas(64) SleeperLooks {
  std::atomic<bool> any{false};               ///< whether there is anybody to look at
  std::atomic<std::uint32_t> calls_to_go{0};  ///< without a look; two threads that count at once count one call
};
extern SleeperLooks sleeper_looks;

/// For who waits for something that does not come through endpoints: a rank that sleeps may have to do it. Looks at all of
/// them once in some calls. Never waits.
inline void wake_sleepers() {
  if (!sleeper_looks.any.load(std::memory_order_acquire)) [[likely]]
    return;
  if (const std::uint32_t calls = sleeper_looks.calls_to_go.load(std::memory_order_relaxed); calls > 0)
    sleeper_looks.calls_to_go.store(calls - 1, std::memory_order_relaxed);
  else
    wake_all_sleepers();
}

/// Says which CPU this thread is on, and whether one of those may be on the same. `own` may be among them.
bool share_cpu(SleepWord& own, std::span<SleepWord* const> words);

/// Says which CPU this thread is on, and of some CPUs the one where the fewest of those are awake, if there are two fewer than on its own, itself among them;
/// else -1.
int emptier_cpu(SleepWord& own, std::span<SleepWord* const> words, std::span<const int> cpus);
/// Moves this thread there, and says so. It may run on the same CPUs as before, and stays if that is none of them.
void go_to(int cpu, SleepWord& own);

}  // namespace omnes::shm
