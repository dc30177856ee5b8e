// The hook into the host's progress engine, and the thread.
#include "interpose/background.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "interpose/engine.hpp"
#include "interpose/process.hpp"

namespace omnes::interpose {

namespace {

// What is under way changes, and with it where to wait: about a ms of looks.
constexpr int looks_in_one_bed = 1000;

// Never destroyed: a program may leave without MPI_Finalize.
struct Background {
  std::mutex mutex;
  std::condition_variable news;
  std::thread thread;
  bool started = false;
  bool stopping = false;
};
auto& background = *new Background;
// The level that the program wants: without threads of its own, its functions may not be safe in ours.
int asked_for = MPI_THREAD_SINGLE;  // before there is a thread
std::atomic<bool> idle{false};      // the thread waits for news

#if defined(OMNES_ABI_OMPI)

// Open MPI's own nonblocking collectives send messages from such a callback, so we may.
int from_host() { return engine::advance(engine::Allowed::everything); }

using Change = int (*)(int (*)());

Change change(const char* function) { return reinterpret_cast<Change>(host_data(function)); }
constexpr const char* registering = "opal_progress_register";

bool has_full_hook() { return change(registering) != nullptr; }
void add_hook() {
  if (const Change add = change(registering)) add(from_host);
}
void remove_hook() {
  if (const Change remove = change("opal_progress_unregister")) remove(from_host);
}

#elif defined(OMNES_ABI_MPICH)

std::atomic<bool> hook_removed{false};

bool locks = false;  // the host has locks, which it holds when it calls us

int from_host(void* /*thing*/) {
  constexpr int nothing_moved = 0, over = 1;  // MPIX_ASYNC_NOPROGRESS, MPIX_ASYNC_DONE
  if (hook_removed) return over;
  engine::advance(locks ? engine::Allowed::nothing : engine::Allowed::to_take_note);
  return nothing_moved;
}

using Start = int (*)(int (*)(void*), void*, MPIX_Stream);

bool has_full_hook() { return false; }
void add_hook() {
  int level = 0;
  locks = host.Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE;
  if (const auto start = reinterpret_cast<Start>(host_data("PMPIX_Async_start")))
    start(from_host, nullptr, MPIX_STREAM_NULL);
}
void remove_hook() { hook_removed = true; }

#else

bool has_full_hook() { return false; }
void add_hook() {}
void remove_hook() {}

#endif

void run() {
  // When it wakes, whoever has the CPU goes on: the program, which has just called us. It runs when that sleeps or has had its share.
  const sched_param no_priority{};
  sched_setscheduler(0, SCHED_BATCH, &no_priority);
  int level = 0;
  const bool may_call_host = host.Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
  const auto allowed = !may_call_host                     ? engine::Allowed::nothing
                       : asked_for == MPI_THREAD_MULTIPLE ? engine::Allowed::everything
                                                          : engine::Allowed::to_call_host;
  for (;;) {
    {
      std::unique_lock lock(background.mutex);
      idle = true;
      std::atomic_thread_fence(std::memory_order_seq_cst);
      background.news.wait(lock, [] { return background.stopping || engine::moving(); });
      idle = false;
      if (background.stopping) return;
    }
    shm::WaitPolicy policy;
    policy.oversubscribed = true;  // the program's own work goes first
    policy.yields_reach = false;
    const auto bed = engine::bed();
    policy.asleep = bed.get();
    shm::Waiter waiter(policy);
    for (int looks = 0; engine::moving() && looks < looks_in_one_bed; ++looks) {
      if (engine::advance(allowed)) {
        waiter.reset();
      } else {
        waiter.pause();
      }
    }
  }
}

}  // namespace

bool host_lets_others_go_on() { return simulated || has_full_hook(); }  // in simulations there are no others

int level_to_ask_for(int level) {
  asked_for = level;
  try {
    if (Settings::from_environment().async) return MPI_THREAD_MULTIPLE;
  } catch (const std::invalid_argument&) {
    // the complaint follows
  }
  return level;
}

void start_background() {
  static std::atomic<bool> started{false};
  if (started.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(background.mutex);
  if (background.started) return;
  background.started = true;
  started = true;
  add_hook();
  if (!process().settings.async) return;
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  background.thread = std::thread(run);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void wake_background() {
  if (!process().settings.async) return;
  // It says that it is idle, then looks whether anything moves; who calls this has made something move, then looks.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!idle.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(background.mutex);
  background.news.notify_one();
}

void stop_background() {
  {
    const std::lock_guard lock(background.mutex);
    if (!background.started || background.stopping) return;
    background.stopping = true;
    background.news.notify_one();
  }
  if (background.thread.joinable()) background.thread.join();
  remove_hook();
}

}  // namespace omnes::interpose
