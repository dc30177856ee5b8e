// The slow part of waiting.
#include "transport/shm/waiting.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

namespace omnes::shm {

namespace {

// A pause is 10 to 45 ns (AMD Zen, Intel since Skylake), a yield with nobody else to run about 300 ns.
// Pauses before the first yield: all that they take is taken from those waited for. With 8, and 64 polls in order before them, 8 ranks on 2
// CPUs took 10 % longer for messages of up to 1 KiB.
constexpr std::uint32_t spins_when_crowded = 2;
constexpr std::uint32_t spins_when_alone = 1000;  // 10 to 45 us: on its own CPU a rank gains nothing by yielding sooner
constexpr std::int64_t longest_spin = 45'000;     // ns; with polls of many messages between them, 1000 take 300 us
constexpr std::uint32_t spins_between_clocks = 8;  // reading the clock takes as long as one of them
// A look in vain takes 20 to 200 ns in hosts that look into memory, some us in those that ask the kernel.
constexpr std::int64_t share_of_looks = 8;  // one in so many ns
// Who has a CPU and has waited for so many looks looks half of the time: what it waits for is seen half a look later at most.
constexpr std::int64_t looks_of_a_long_wait = 16;
constexpr std::int64_t longest_between_looks = 5000;  // ns; stock MPIs look all the time
constexpr std::int64_t noise_of_looks =
    50;  // ns, twice the clock's; what takes more than twice the usual has found something
// Of yields before the first look, most of which end short waits: 8 ranks on 2 CPUs take 11 us for a barrier.
constexpr std::int64_t yields_without_looks = 1000;  // ns
constexpr std::int64_t longest_turn = 10'000'000;    // ns that others keep a CPU: some time slices
constexpr std::int64_t long_absence = 300'000;       // ns; a time slice is 1 to 4 ms
// Naps for so many times an absence: where strangers stay, no more than one in so many is lost to find that out again.
constexpr std::int64_t absences_of_naps = 50;
// ns. Two jobs of two ranks on two CPUs with steps of 50 us took 20 % longer with naps than without, with steps of 500 us 5 to 25 % less.
constexpr std::int64_t wait_worth_naps = 100'000;
constexpr std::int64_t idle_yield = 1000;  // ns; less than a switch to another process and back
// In a row. Of 4, 16 and 40 the middle one served 4 and 8 ranks on 2 CPUs best; any of them 10 to 50 times faster than yielding on.
constexpr std::uint32_t max_idle_yields = 16;
constexpr std::int64_t nap =
    1000;  // ns, to which the kernel adds its timer slack of about 50 us; where there is no sleep word
// Who was woken for what the host has got is likely to be asked again: a round trip of its messages and some computing.
constexpr std::int64_t awake_when_woken = 100'000;  // ns

std::atomic<SleepWord*> waker{nullptr};

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
  void sleep(std::atomic<std::uint32_t>& word, std::uint32_t while_it_is, std::int64_t at_most) override {
    const timespec time_out{0, at_most};
    // Not FUTEX_PRIVATE: the waker is another process.
    syscall(SYS_futex, &word, FUTEX_WAIT, while_it_is, &time_out, nullptr, 0);
  }
  Strangers& strangers() override {
    static thread_local Strangers known;
    return known;
  }
  std::int64_t preemptions() override {
    rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
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
    if (n >= spins_before_looks && n % spins_between_clocks == 0) {
      const std::int64_t now = policy_.system->now();
      if (n == spins_before_looks) {
        waits_since_ = spins_since_ = seen_ = now;
        unseen_ = 0;
        preemptions_ = -1;
      }
      note_long(now);
      unseen_ = std::max(unseen_, now - seen_);
      seen_ = now;
      if (is_time_to_look(now)) look_at_host();
      if (!policy_.oversubscribed && now - spins_since_ >= longest_spin) return yield_alone();
    }
    policy_.system->relax();
    return;
  }
  if (!policy_.oversubscribed) {
    yield_alone();
    return;
  }
  pauses_ = bare_polls + spins;  // stays here until something moves
  if (n == spins) {
    const std::int64_t now = policy_.system->now();
    note_long(now);
    if (policy_.spread_out) say_where(*policy_.sleep_word);
    sleep_from_ = now + policy_.sleep_after;
    if (next_look_ == 0) next_look_ = now + yields_without_looks;
  }
  yield_or_sleep();
}

// Tools make clocks stand still, libfaketime for one: then looks cannot be told by the time.
std::int64_t Waiter::time_after_yield(std::int64_t before) {
  policy_.system->yield();
  const std::int64_t after = policy_.system->now();
  stands_at_ = after == before ? after : -1;
  return after;
}

// Now and then, as some other program, or a rank that nobody knew of, may want this CPU. One that takes it for long gets no more than half. Where
// the other ranks are on other CPUs, that holds over all waits: if each wait on a busy machine yielded, ranks would be away by turns, for a
// time slice each, and each would wait for one that is not there. A rank on the same CPU gets it each time.
void Waiter::yield_alone() {
  pauses_ = bare_polls + spins_before_looks;  // spins again
  const bool to_own_rank = policy_.shares_cpu != nullptr && policy_.shares_cpu(policy_.by);
  const bool to_strangers = policy_.shares_cpu != nullptr && !to_own_rank;
  const std::int64_t before = spins_since_ = policy_.system->now();
  if (is_time_to_nap(before)) return nap_alone();
  std::int64_t& yield_from = policy_.system->strangers().yield_from;
  if (before < (to_strangers ? yield_from : yield_from_)) return;
  const std::int64_t after = spins_since_ = seen_ = time_after_yield(before);
  if (!to_own_rank) note_absence(after, after - before);
  preemptions_ = policy_.system->preemptions();  // a yield counts as one
  yield_from = yield_from_ = after + std::min(after - before, longest_turn);
}

// The median moves by an eighth towards each.
void Waiter::note_longest_wait() {
  std::int64_t& median = policy_.system->strangers().median_wait;
  median += longest_wait_ > median ? median / 8 + 100 : -median / 8;
}

// Strangers on this CPU take turns with it, of a time slice each. Who spins uses its part up while it waits, and is away when what it waits
// for has come. That a poll has taken long does not say that it was away: hosts move much at a time.
bool Waiter::is_time_to_nap(std::int64_t now) {
  if (!policy_.may_nap || now == stands_at_) return false;
  const std::int64_t before = std::exchange(preemptions_, policy_.system->preemptions());
  if (before >= 0 && preemptions_ > before) note_absence(now, std::max(unseen_, now - seen_));
  unseen_ = 0;
  seen_ = now;
  const Strangers& strangers = policy_.system->strangers();
  return now < strangers.nap_until && strangers.median_wait >= wait_worth_naps;
}

void Waiter::note_absence(std::int64_t now, std::int64_t absence) {
  if (absence < long_absence) return;
  std::int64_t& nap_until = policy_.system->strangers().nap_until;
  nap_until = std::max(nap_until, now + absences_of_naps * std::min(absence, longest_turn));
}

// Again and again until something moves, or the host has something to do. Until when it has waited (seen_) stays: the nap may have been longer.
void Waiter::nap_alone() {
  pauses_ = bare_polls + spins_when_alone - 1;
  preemptions_ = -1;
  if (look_at_host()) return;
  policy_.system->nap(nap);
  const std::int64_t after = policy_.system->now(), took = after - seen_;
  std::int64_t& shortest = policy_.system->strangers().shortest_nap;
  if (shortest == 0 || took < shortest) shortest = took;
  note_absence(after, took - shortest);
}

void Waiter::yield_or_sleep() {
  System& system = *policy_.system;
  if (announced_) {
    look_at_host();
    std::atomic<std::uint32_t>& word = policy_.sleep_word->word;
    const std::uint32_t now = word.load(std::memory_order_relaxed);
    if (policy_.spread_out) say_where(*policy_.sleep_word);
    if (SleepWord::wake_ups(now) == wake_ups_) system.sleep(word, now, policy_.longest_sleep);
    if (was_woken()) {  // look, then announce anew
      withdraw();
      if (policy_.spread_out) policy_.spread_out(policy_.by);
      idle_yields_ = 0;
      sleep_from_ = system.now() + awake_when_woken;
      next_look_ = 0;
    }
    return;
  }
  // Where one message came only after a yield, the next is likely to need one, too: no bare polls for it.
  start_ = bare_polls;
  std::int64_t before = system.now(), after = before;
  if (is_time_to_look(before)) {
    look_at_host();
    after = system.now();
  }
  // A host that yields by itself, or had much to do, has taken long enough for what is waited for to have come.
  if (after - before < idle_yield) {
    before = after;
    after = time_after_yield(before);
  }
  idle_yields_ = after - before < idle_yield ? idle_yields_ + 1 : 0;
  const bool in_vain = !policy_.yields_reach && idle_yields_ >= max_idle_yields;
  if (!in_vain && after <= sleep_from_) return;
  if (may_sleep()) {
    announce();
  } else if (in_vain) {
    look_at_host();
    system.nap(nap);
  }
}

bool Waiter::may_sleep() const {
  return policy_.sleep_word && !(policy_.others && policy_.others->load(std::memory_order_relaxed) > 0);
}

bool Waiter::look_at_host() {
  if (!policy_.poke) return false;
  const std::int64_t before = policy_.system->now();
  policy_.poke(policy_.context);
  const std::int64_t after = policy_.system->now();
  const std::int64_t took = std::max<std::int64_t>(after - before, 1);
  const bool found_something = least_look_ > 0 && took > 2 * least_look_ + noise_of_looks;
  if (least_look_ == 0 || took < least_look_) least_look_ = took;
  const bool long_wait = !policy_.oversubscribed && after - waits_since_ > looks_of_a_long_wait * least_look_;
  const std::int64_t between = long_wait ? least_look_ : share_of_looks * least_look_;
  seen_ = after;
  next_look_ = found_something ? after : after + std::min(between, longest_between_looks);
  return found_something;
}

void Waiter::announce() {
  announced_ = true;
  wake_ups_ = SleepWord::wake_ups(policy_.sleep_word->word.fetch_add(1, std::memory_order_relaxed));
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool Waiter::was_woken() const {
  return SleepWord::wake_ups(policy_.sleep_word->word.load(std::memory_order_relaxed)) != wake_ups_;
}

// Who wakes has withdrawn it already.
void Waiter::withdraw() {
  announced_ = false;
  std::atomic<std::uint32_t>& word = policy_.sleep_word->word;
  for (std::uint32_t now = word.load(std::memory_order_relaxed);
       SleepWord::wake_ups(now) == wake_ups_ && !word.compare_exchange_weak(now, now - 1, std::memory_order_relaxed);) {
  }
}

// Who reads it needs no order: the kernel may have moved the thread since anyway.
int say_where(SleepWord& own) {
  const int here = sched_getcpu();
  if (own.cpu.load(std::memory_order_relaxed) != here + 1) own.cpu.store(here + 1, std::memory_order_relaxed);
  return here;
}

void say_where_when_waking(SleepWord* own) { waker.store(own, std::memory_order_relaxed); }

void wake_sleeper(SleepWord& word) {
  std::uint32_t now = word.word.load(std::memory_order_relaxed);
  do {
    if (now % SleepWord::one_wake_up == 0) return;  // another has woken them
  } while (!word.word.compare_exchange_weak(now, (SleepWord::wake_ups(now) + 1) * SleepWord::one_wake_up,
                                            std::memory_order_relaxed));
  if (SleepWord* const own = waker.load(std::memory_order_relaxed)) say_where(*own);
  syscall(SYS_futex, &word.word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace omnes::shm
