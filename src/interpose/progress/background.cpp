// The hook into the host's progress engine, and the thread.
#include "interpose/progress/background.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "interpose/host/port.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/unattended.hpp"
#include "interpose/progress/engine.hpp"
#include "interpose/progress/until.hpp"
#include "transport/shm/sleepers.hpp"

namespace omnes::interpose {

namespace {

// What is under way changes, and with it where to wait: about a ms of looks.
constexpr int looks_at_one_word = 1000;

// How long the thread that stands in for the program sleeps between two looks; the kernel adds its timer slack of about 50 us. It takes some
// 5 us of a CPU each time, so at most one per cent while operations of others are late, and a rank that is away delays others by that.
constexpr std::chrono::microseconds shortest_sleep{20}, longest_sleep{1000};
// Without anything under way until it waits to be woken, which costs the program a system call.
constexpr std::chrono::milliseconds lingering{10};

// Never destroyed: a program may leave without MPI_Finalize.
struct Background {
  std::mutex mutex;
  std::condition_variable news;
  std::thread thread;
  bool hooked = false;
  bool started = false;
  std::atomic<bool> stopping = false;
};
auto& background = *new Background;
bool has_thread = false;        // from the first operation on
std::atomic<bool> idle{false};  // the thread, if there is one, waits for news

#if defined(OMNES_ABI_OMPI)

// Open MPI's own nonblocking collectives send messages from such a callback, so we may.
int from_host() {
  if (!poking()) shm::wake_sleepers();
  if constexpr (component) return engine::progress();  // nobody else ends what the program waits for in the host
  return engine::advance(Unattended::everything);
}

using Change = int (*)(int (*)());

Change change(const char* function) { return reinterpret_cast<Change>(host_data(function)); }

void add_hook() {
  if (const Change add = change("opal_progress_register")) add(from_host);
}
void remove_hook() {
  if (const Change remove = change("opal_progress_unregister")) remove(from_host);
}

/// It spins unless its launcher knows that there are more ranks than slots, or its user has said otherwise. Returns whether it does not now.
bool have_host_yield() {
  if (std::getenv("OMPI_MCA_mpi_yield_when_idle")) return true;
  const auto set = reinterpret_cast<bool (*)(bool)>(host_data("opal_progress_set_yield_when_idle"));
  if (set) set(true);
  return set != nullptr;
}

#elif defined(OMNES_ABI_MPICH)

std::atomic<bool> hook_removed{false};

// MPICH calls its hooks before it looks for messages, without any of its locks but that of the list of hooks: where it has locks, another
// thread may wait for that one while it holds one that we would need.
Unattended allowed_to_hook = Unattended::shared_memory;

/// MPICH 5 yields by itself if it is told to: omnes run does.
bool host_yields() {
  static const bool told = [] {
    const char* const throttle = std::getenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE");
    return throttle && std::string_view(throttle) != "0";
  }();
  return told;
}

OMNES_FAST_THREAD_LOCAL bool hook_was_called = false;  // since UCX has found nothing the last time

int from_host(void* /*thing*/) {
  constexpr int nothing_moved = 0, over = 1;  // MPIX_ASYNC_NOPROGRESS, MPIX_ASYNC_DONE
  if (hook_removed) return over;
  hook_was_called = true;
  const InsideProgress guard;
  engine::advance(allowed_to_hook, allowed_to_hook == Unattended::everything);
  if (!host_yields())
    pause_in_host();
  else if (!poking())
    shm::wake_sleepers();
  return nothing_moved;
}

using Start = int (*)(int (*)(void*), void*, MPIX_Stream);

void add_hook() {
  if (has_full_hook()) allowed_to_hook = Unattended::everything;
  if (const auto start = reinterpret_cast<Start>(host_data("PMPIX_Async_start")))
    start(from_host, nullptr, MPIX_STREAM_NULL);
}
void remove_hook() { hook_removed = true; }

bool have_host_yield() { return false; }  // but it calls pause_in_host()

#else

void add_hook() {}
void remove_hook() {}
bool have_host_yield() { return false; }

#endif

/// Until nothing has been under way for a while.
void stand_in(Unattended allowed) {
  using Clock = std::chrono::steady_clock;
  auto sleep = longest_sleep;
  unsigned visits = engine::visits();
  for (auto last_moving = Clock::now(); Clock::now() - last_moving < lingering && !background.stopping;) {
    std::this_thread::sleep_for(sleep);
    if (!engine::moving()) continue;
    last_moving = Clock::now();
    const unsigned seen = std::exchange(visits, engine::visits());
    if (visits != seen) {
      sleep = longest_sleep;
    } else if (engine::advance(allowed, false)) {
      sleep = shortest_sleep;
    } else {
      sleep = std::min(2 * sleep, longest_sleep);
    }
  }
}

/// Until nothing is left to do, or it is to be asked anew whether the thread may sleep.
void go_on(Unattended allowed) {
  shm::WaitPolicy policy;
  policy.oversubscribed = true;  // the program's own work goes first
  policy.yields_reach = false;
  policy.sleep_word = engine::sleep_word();
  shm::Waiter waiter(policy);
  for (int looks = 0; engine::moving() && looks < looks_at_one_word; ++looks) {
    if (engine::advance(allowed, false)) {
      waiter.reset();
    } else {
      waiter.pause();
    }
  }
}

void run() {
  const bool async = process().settings.async;
  if (async) {
    // When it wakes, whoever has the CPU goes on: the program, which has just called us. It runs when that sleeps or has had its share.
    const sched_param no_priority{};
    sched_setscheduler(0, SCHED_BATCH, &no_priority);
  }
  const Unattended allowed = unattended_by_thread();
  for (;;) {
    {
      std::unique_lock lock(background.mutex);
      idle = true;
      std::atomic_thread_fence(std::memory_order_seq_cst);
      background.news.wait(lock, [] { return background.stopping || engine::moving(); });
      idle = false;
      if (background.stopping) return;
    }
    if (async) {
      go_on(allowed);
    } else {
      stand_in(allowed);
    }
  }
}

}  // namespace

#ifdef OMNES_ABI_MPICH
void advance_unless_hooked() {
  const bool was_called = std::exchange(hook_was_called, false);
  if (was_called || hook_removed || allowed_to_hook != Unattended::everything || poking() || inside_progress()) return;
  const InsideProgress guard;
  engine::advance(allowed_to_hook);
}
#else
void advance_unless_hooked() {}
#endif

void hook_into_host() {
  const std::lock_guard lock(background.mutex);
  if (background.hooked) return;
  background.hooked = true;
  add_hook();
}

void let_others_run() {
  hook_into_host();
  if (!have_host_yield()) wait_for_host_by_tests();
}

void start_background() {
  static std::atomic<bool> started{false};
  if (started.load(std::memory_order_relaxed)) return;
  hook_into_host();
  const std::lock_guard lock(background.mutex);
  if (background.started) return;
  background.started = true;
  started = true;
  if (!process().settings.async && built_for == Family::ompi && has_full_hook()) return;
  // Signals are for the program's own threads, but for the faults that this one meets in the program's buffers.
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  seldom.one_thread_forgets = false;
  try {
    background.thread = std::thread(run);
    has_thread = true;
  } catch (const std::exception&) {  // the system gives no more: what is under way goes on in the program's calls
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void wake_background() {
  if (!has_thread) return;
  // It says that it is idle, then looks whether anything moves; who calls this has made something move, then looks.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!idle.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(background.mutex);
  background.news.notify_one();
}

void stop_background() {
  {
    const std::lock_guard lock(background.mutex);
    if (background.stopping) return;
    background.stopping = true;
    background.news.notify_one();
  }
  if (background.thread.joinable()) background.thread.join();
  if (background.hooked) remove_hook();
}

}  // namespace omnes::interpose
