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

/// The CPU among these (ascending) where fewer of those words' owners are awake than on this one; -1: none.
int emptier_cpu(int here, std::span<SleepWord* const> words, std::span<const int> cpus);

/// How a rank that shares CPUs with others of its node gets away from them. For one thread of a process.
class Spreading {
 public:
  /// `usable` returns the CPUs on which this thread may run, `near` those that are near one of them, itself among them, or
  /// none if that is not known; both ascending.
  Spreading(SleepWord& own, std::vector<SleepWord*> others, std::vector<int> (*usable)(),
            std::vector<int> (*near)(int cpu));
  /// This thread was woken. Says where it is, and goes to a near CPU on which fewer of the others are awake than here, if
  /// there is one. It may run on the same CPUs as before.
  void look();

 private:
  void go(int here, int there);

  SleepWord& own_;
  const std::vector<SleepWord*> others_;
  std::vector<int> (*const find_usable_)();
  std::vector<int> (*const find_near_)(int cpu);
  std::vector<int> usable_, near_;  // when last looked at; near_: to the CPU on which it was then
  bool may_move_ = true;
};

}  // namespace omnes::shm
