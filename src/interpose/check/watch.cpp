// It sleeps, and looks at memory only: it calls no function of MPI.
#include "interpose/check/watch.hpp"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "interpose/check/report.hpp"

namespace omnes::interpose::check {

namespace {

struct Watch {
  std::mutex mutex;
  std::condition_variable stop;
  bool stops = false;
  std::uint64_t last = 0;
  std::vector<std::pair<std::uint64_t, Waiting>> waiting;
  std::thread thread;
  std::atomic<Watched*> blocking = nullptr;  ///< of the thread that called last
  std::atomic<std::uint64_t> number = 0;
};
Watch& watch = *new Watch;  // never destroyed: MPI may be finalised by a destructor

OMNES_FAST_THREAD_LOCAL Watched* in_call;

constexpr auto between_looks = std::chrono::milliseconds(250);

/// The rank waits in a function of MPI: else its own computation may be what takes so long.
bool is_waiting(const Area& area, std::int64_t before) {
  return area.what.load(std::memory_order_relaxed) != 0 && area.since.load(std::memory_order_relaxed) < before;
}

void look() {
  constexpr std::int64_t unseen =
      std::chrono::nanoseconds(between_looks).count();  // a wait may begin so long after a look
  const std::int64_t now = coarse_now();
  last_look.store(now, std::memory_order_relaxed);
  const std::int64_t before = now - std::int64_t{process().settings.check_timeout} * 1'000'000'000 - unseen;
  if (!is_waiting(own_area(), before)) return;
  std::vector<Waiting> long_ones;
  std::shared_ptr<Watched> kept;  // released after the mutex
  {
    const std::lock_guard lock(watch.mutex);
    if (Watched* const watched = watch.blocking.load(std::memory_order_acquire))
      if ((kept = watched->weak_from_this().lock()))
        if (const std::uint64_t number = watch.number.load(std::memory_order_relaxed);
            kept->told < number && !kept->has_given_up())
          long_ones.push_back({kept, number, own_area().since.load(std::memory_order_relaxed)});
    for (const auto& [id, one] : watch.waiting)
      if (one.since < before && one.watched->told < one.number && !one.watched->has_given_up())
        long_ones.push_back(one);
  }
  for (const Waiting& one : long_ones) {
    std::vector<int> missing;
    for (int r = 0; r < static_cast<int>(one.watched->ranks.size()); ++r)
      if (!one.watched->has_come(r, one.number)) missing.push_back(r);
    if (missing.empty()) continue;
    one.watched->told = one.number;
    // Communicators that share no rank may have one identity.
    const std::uint64_t call = one.watched->id + (static_cast<std::uint64_t>(one.watched->ranks[0]) << 32) + one.number;
    if (first_to_report(call * 0x9E3779B97F4A7C15u | 2U))
      tell_missing(*one.watched, one.number, missing, static_cast<double>(now - one.since) * 1e-9);
  }
}

void run() {
  std::unique_lock lock(watch.mutex);
  while (!watch.stop.wait_for(lock, between_looks, [] { return watch.stops; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

}  // namespace

void start_watching() {
  last_look.store(coarse_now(), std::memory_order_relaxed);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's threads
  watch.thread = std::thread(run);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void stop_watching() {
  if (!watch.thread.joinable()) return;
  {
    const std::lock_guard lock(watch.mutex);
    watch.stops = true;
  }
  watch.stop.notify_one();
  watch.thread.join();
}

std::mutex& watch_mutex() { return watch.mutex; }

void wait_in(Watched* watched, std::uint64_t number) {
  in_call = watched;
  watch.number.store(number, std::memory_order_relaxed);
  watch.blocking.store(watched, std::memory_order_release);
}

Watched* waited_in() { return in_call; }

std::uint64_t start_waiting(std::shared_ptr<Watched> watched, std::uint64_t number) {
  const std::int64_t now = coarse_now();
  const std::lock_guard lock(watch.mutex);
  watch.waiting.emplace_back(++watch.last, Waiting{std::move(watched), number, now});
  return watch.last;
}

void stop_waiting(std::uint64_t waiting) {
  Waiting ended;  // what it refers to may go with it, after the mutex
  const std::lock_guard lock(watch.mutex);
  const auto has_ended = [&](const auto& one) { return one.first == waiting; };
  const auto last = std::ranges::find_if(watch.waiting.rbegin(), watch.waiting.rend(), has_ended);
  if (last == watch.waiting.rend()) return;
  ended = std::move(last->second);
  watch.waiting.erase(std::next(last).base());
}

}  // namespace omnes::interpose::check
