// The slow part of waiting.
#include "transport/shm/waiting.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace omnes::shm {

namespace {

// A pause is 10 to 45 ns (AMD Zen, Intel since Skylake), a yield with nobody else to run about 300 ns.
// Pauses before the first yield: all that they take is taken from those waited for. With 8, and 64 polls in order before them, 8 ranks on 2
// CPUs took 10 % longer for messages of up to 1 KiB.
constexpr std::uint32_t spins_when_crowded = 2;
constexpr std::uint32_t spins_when_alone = 1000;  // 10 to 45 us: on its own CPU a rank gains nothing by yielding sooner
// A poke of an MPI library takes 0.1 to 3 us, in which whatever is waited for is not seen: a wait inside a pipeline, about 1 us, must do without.
constexpr std::uint32_t spins_between_pokes = 256;  // 4 to 12 us
constexpr std::uint32_t yields_between_pokes = 4;
constexpr std::int64_t sleep_after =
    2'000'000;  // ns of yielding; schedulers' time slices are longer, computing phases much longer
constexpr std::int64_t idle_yield = 1000;  // ns; less than a switch to another process and back
// In a row. Of 4, 16 and 40 the middle one served 4 and 8 ranks on 2 CPUs best; any of them 10 to 50 times faster than yielding on.
constexpr std::uint32_t most_idle_yields = 16;
constexpr std::int64_t nap =
    1000;  // ns, to which the kernel adds its timer slack of about 50 us; where there is no bed
constexpr std::int64_t sleep_at_most = 500'000;  // ns: what a lost wake-up may cost

class RealSystem final : public System {
 public:
  std::int64_t now() override {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
  }
  void relax() override {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }
  void yield() override { sched_yield(); }
  void nap(std::int64_t ns) override {
    const timespec time_out{0, ns};
    nanosleep(&time_out, nullptr);
  }
  void sleep(std::atomic<std::uint32_t>& bed, std::int64_t at_most) override {
    const timespec time_out{0, at_most};
    // Not FUTEX_PRIVATE: the waker is another process.
    syscall(SYS_futex, &bed, FUTEX_WAIT, 1, &time_out, nullptr, 0);
  }
};

}  // namespace

System& System::real() {
  static RealSystem real;
  return real;
}

void Waiter::pause_longer() {
  const std::uint32_t spins = policy_.oversubscribed ? spins_when_crowded : spins_when_alone;
  const std::uint32_t n = pauses_ - bare_polls;
  if (n < spins) {
    if ((n + 1) % spins_between_pokes == 0 && policy_.poke) policy_.poke(policy_.context);
    policy_.system->relax();
    return;
  }
  pauses_ = bare_polls + spins;  // stays here until something moves
  if (n == spins) yielding_since_ = policy_.system->now();
  yield_or_sleep();
}

void Waiter::yield_or_sleep() {
  System& system = *policy_.system;
  if (policy_.poke && (announced_ || ++yields_ % yields_between_pokes == 0)) policy_.poke(policy_.context);
  if (announced_) {
    system.sleep(*policy_.asleep, sleep_at_most);
    if (policy_.asleep->load(std::memory_order_relaxed) == 0) announced_ = false;  // woken: look, then announce anew
    return;
  }
  // Where one message came only after a yield, the next is likely to need one, too: no bare polls for it.
  if (policy_.oversubscribed) start_ = bare_polls;
  const std::int64_t before = system.now();
  system.yield();
  const std::int64_t after = system.now();
  idle_yields_ = after - before < idle_yield ? idle_yields_ + 1 : 0;
  const bool in_vain = policy_.oversubscribed && !policy_.yields_reach && idle_yields_ >= most_idle_yields;
  const bool may_sleep = policy_.asleep && !(policy_.others && policy_.others->load(std::memory_order_relaxed) > 0);
  if (in_vain && !may_sleep) system.nap(nap);
  if (may_sleep && (in_vain || after - yielding_since_ > sleep_after)) {
    announced_ = true;
    policy_.asleep->store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void Waiter::withdraw() {
  announced_ = false;
  policy_.asleep->store(0, std::memory_order_relaxed);
}

void wake_sleeper(std::atomic<std::uint32_t>& asleep) {
  asleep.store(0, std::memory_order_relaxed);
  syscall(SYS_futex, &asleep, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace omnes::shm
