// Waiting for something that another rank does, without keeping the host MPI from what others want of it.
//
// How: `Waiter waiter(policy); while (!progress()) waiter.pause();`. A few bare polls; spinning with the processor's
// pause; yields, at once when ranks outnumber CPUs, else after a while; there at last sleep on the own word (a futex in
// shared memory) with a time-out. A rank with a CPU of its own does not sleep: it may be needed at any time.
// Unless other programs keep its CPU from it for time slices: then it naps where waits are long, and has used less than its
// part of the CPU when it can go on.
// Ranks that yields do not reach sleep as soon as their yields come back at once: only so do the others get the CPU.
// The host: short waits leave it alone. Later it is looked at (poked) as often as takes an eighth of the time, by what a
// look takes as measured, and half of the time in long waits with a CPU of its own; at once again after a look that found
// something to do; before each sleep; and all the time where the clock stands still, as some tools make it.
// A process sleeps at one word, wherever it waits, so that every rank of its node can wake it.
// Why no wake-up is lost for long: going to sleep is two pauses, one that announces it, and, if the poll between them
// still finds nothing, one that sleeps unless there was a wake-up since. A writer stores its sequence number, then looks
// at the word, and if anybody has announced a sleep withdraws all these, counts a wake-up and wakes the sleepers. The
// sleeper has a fence between announcing and polling. The writer has one only where ranks sleep often
// (Endpoint::fence_wakes); elsewhere both may miss the other, and the time-out ends the sleep: it bounds the delay, and
// only of a rank that had been idle for long. As wake-ups are counted, a thread that was woken while it was about to
// sleep does not take what another thread of its process has announced since for its own (tests/models/sleep.pml).
// This is the one word that others than its owner write.
// Where ranks find each other after that: Linux puts who wakes on an idle CPU, else where it slept, whatever else has woken
// there, and evens that out in tens of ms, as who has slept seems to need little. So each says where it is, and who was woken goes to a
// CPU with fewer ranks by itself, if there is one (WaitPolicy::spread_out). At other times the kernel knows better.
#pragma once

#include <atomic>
#include <cstdint>

namespace omnes::shm {

/// Where the threads of a process sleep, in memory that the ranks of its node share.
struct alignas(64) SleepWord {
  static constexpr std::uint32_t one_wake_up = 1U << 16;
  std::atomic<std::uint32_t> word;  ///< the owner's threads that sleep or are about to, and 65536 times the wake-ups
  /// Where the owner was when it last waited for long, slept or woke another, and 1; 0: not known.
  std::atomic<int> cpu;

  static std::uint32_t wake_ups(std::uint32_t word) { return word / one_wake_up; }
  std::uint32_t asleep() const { return word.load(std::memory_order_relaxed) % one_wake_up; }
};

/// What a thread knows of other programs that want its CPU, in ns.
struct Strangers {
  std::int64_t yield_from = 0;    ///< before that it yields to none: the last ones kept the CPU for long
  std::int64_t nap_until = 0;     ///< it has lost the CPU to some for long
  std::int64_t shortest_nap = 0;  ///< as the kernel's timers are; 0: none yet
  std::int64_t median_wait = 0;   ///< of the longest ones of calls in which it waited for some us
};

/// The CPU and the clock as a waiter uses them. Tests have one of their own, in which time passes as they say.
class System {
 public:
  virtual std::int64_t now() = 0;  ///< ns
  virtual void relax() = 0;        ///< the processor's pause
  virtual void yield() = 0;
  virtual void nap(std::int64_t ns) = 0;
  /// Until somebody wakes those who sleep on this word, at most so many ns; not at all if it is not `while_it_is`.
  virtual void sleep(std::atomic<std::uint32_t>& word, std::uint32_t while_it_is, std::int64_t at_most) = 0;
  virtual Strangers& strangers() = 0;  ///< as this thread knows them
  /// How often this thread was taken off its CPU, although it could have gone on.
  virtual std::int64_t preemptions() = 0;
  static System& real();

 protected:
  ~System() = default;
};

struct WaitPolicy {
  bool oversubscribed = false;                   ///< the ranks of this node outnumber the CPUs that they may run on
  bool yields_reach = true;                      ///< false: a yield may not hand the CPU to the other ranks
  bool may_nap = true;                           ///< false: with a CPU of its own it spins, whoever else wants that
  SleepWord* sleep_word = nullptr;               ///< own; null: never sleep
  bool (*shares_cpu)(const void* by) = nullptr;  ///< another rank may want the CPU that this one is on; null: it may
  /// Says where it is, and goes to a CPU with fewer ranks, if there is one; null: neither.
  void (*spread_out)(const void* by) = nullptr;
  const void* by = nullptr;
  const std::atomic<int>* others = nullptr;  ///< of things that may come by other ways: while there are any, no sleep
  std::int64_t sleep_after = 2'000'000;      ///< ns of yielding; time slices are longer, computing phases much longer
  std::int64_t longest_sleep = 500'000;      ///< ns: what a lost wake-up may cost, and whom nobody wakes for the host
  void (*poke)(void* context) = nullptr;     ///< looks at the host: lets it, and other work of the process, progress
  void* context = nullptr;
  System* system = &System::real();
};

class Waiter {
 public:
  explicit Waiter(const WaitPolicy& policy)
      : policy_(policy), start_(policy.oversubscribed ? bare_polls - bare_polls_when_crowded : 0), pauses_(start_) {}
  ~Waiter() {
    reset();
    if (longest_wait_ > 0) [[unlikely]]
      note_longest_wait();
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  void pause() {
    if (++pauses_ > bare_polls) pause_longer();
  }
  /// ns since the first wait in which a clock was read, after a few microseconds or before the first yield; 0: there was none.
  std::int64_t waited() const { return long_since_ == 0 ? 0 : policy_.system->now() - long_since_; }
  /// Something has moved: start over.
  void reset() {
    if (pauses_ >= bare_polls + spins_before_looks && seen_ - waits_since_ > longest_wait_) [[unlikely]]
      longest_wait_ = seen_ - waits_since_;
    pauses_ = start_;
    if (announced_) withdraw();
  }

 private:
  static constexpr std::uint32_t bare_polls = 32;  ///< about 100 ns, one hand-over of a cache line between busy cores
  static constexpr std::uint32_t bare_polls_when_crowded = 8;
  // 0.6 to 3 us: a wait inside a pipeline, about 1 us, must do without looks at the host, in which it would see nothing else.
  static constexpr std::uint32_t spins_before_looks = 64;

  void pause_longer();
  void note_long(std::int64_t now) {
    if (long_since_ == 0) long_since_ = now;
  }
  std::int64_t time_after_yield(std::int64_t before);
  void yield_alone();
  void nap_alone();
  void note_longest_wait();
  bool is_time_to_nap(std::int64_t now);
  void note_absence(std::int64_t now, std::int64_t absence);
  void yield_or_sleep();
  bool is_time_to_look(std::int64_t now) const { return now >= next_look_ || now == stands_at_; }
  bool may_sleep() const;
  bool look_at_host();  // returns whether the host had something to do
  void announce();
  bool was_woken() const;
  void withdraw();

  const WaitPolicy& policy_;
  std::uint32_t start_;  // of pauses_, after something has moved
  std::uint32_t pauses_;
  bool announced_ = false;
  std::uint32_t wake_ups_ = 0;     // when that was
  std::uint32_t idle_yields_ = 0;  // in a row
  std::int64_t long_since_ = 0;    // ns; the first wait that was long
  std::int64_t sleep_from_ = 0;    // ns; the time from which it may sleep
  std::int64_t waits_since_ = 0;   // ns; with a CPU of its own
  std::int64_t spins_since_ = 0;   // ns; the same; the start, or the last time that it would have yielded
  std::int64_t yield_from_ = 0;    // ns; the same
  std::int64_t longest_wait_ = 0;  // ns; the same; those that took some us
  std::int64_t seen_ = 0;          // ns; the same; the last look at the clock
  std::int64_t unseen_ = 0;        // ns; the same; the longest time between two since the last yield
  std::int64_t preemptions_ = -1;  // at the last yield; -1: there was none in this wait
  std::int64_t next_look_ = 0;     // ns; at the host
  std::int64_t stands_at_ = -1;    // ns; what a clock says that stands still; -1: it goes
  std::int64_t least_look_ = 0;    // ns; what a look has taken that found nothing to do; 0: none yet
};

/// This thread is on this CPU, which is returned: only where one thread of the owner waits and wakes.
int say_where(SleepWord& own);
/// From now on who wakes others says where it is. Null: does not.
void say_where_when_waking(SleepWord* own);

/// Wakes all who sleep on this word: its owner's threads.
void wake_sleeper(SleepWord& word);
/// Returns whether anybody slept.
inline bool wake_if_asleep(SleepWord& word) {
  if (word.asleep() == 0) [[likely]]
    return false;
  wake_sleeper(word);
  return true;
}

}  // namespace omnes::shm
