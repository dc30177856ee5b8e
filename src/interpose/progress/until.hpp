// Waiting for the host while operations of ours are under way, or where it would keep CPUs from other ranks: a function that
// waits becomes a loop of the one that only tests.
//
// Where ranks share CPUs: a host that spins until a message comes keeps the CPU from the rank that is to send it, often for its
// whole time slice. Ours yield between two looks, unless the host can be told to yield by itself (background.cpp).
#pragma once

#include "interpose/progress/engine.hpp"
#include "transport/shm/sleepers.hpp"

namespace omnes::interpose {

/// From now on the host never waits by itself for messages and requests, and in its other functions others have their turns.
void wait_for_host_by_tests();
extern bool waits_for_host_by_tests;
/// The host is in a function of its own and looks, in vain, for what others do: who sleeps is woken, others have their turns.
void pause_in_host();
/// The program has called MPI anew, or this thread looks at the host for itself: it has not waited.
void has_not_waited_in_host();

/// Whether there is anything to do meanwhile; else the host, which is found now, may wait by itself.
inline bool ours() {
  if (straight()) [[likely]]
    return false;
  find_host();
  if (waits_for_host_by_tests) has_not_waited_in_host();
  return engine::busy() || waits_for_host_by_tests;
}

// A test in vain runs the host's progress engine, which takes it 0.5 to 1 us: as long as a short operation.
inline constexpr unsigned looks_between_tests = 16;
inline constexpr unsigned max_short_looks = 64;  // later ones come after yields, which take longer than a test

/// Repeats test(flag), which returns a code of the host, until it says that it is done.
template <class Test>
int until(Test test) {
  shm::Waiter waiter(engine::waiting());
  for (unsigned looks = 0;; ++looks) {
    const bool something = engine::progress();
    if (something) waiter.reset();
    if (something || looks % looks_between_tests == 0 || looks > max_short_looks || !engine::busy()) {
      int flag = 0;
      const int code = test(&flag);
      if (flag || code != MPI_SUCCESS) return code;
      if (waits_for_host_by_tests) {
        has_not_waited_in_host();
        shm::wake_sleepers();  // who is to answer may sleep, and not every host calls us
      }
    }
    waiter.pause();
  }
}

/// Until the request of a call that blocks is complete. Returns the call's code.
int wait_for(MPI_Request request, MPI_Status* status);

}  // namespace omnes::interpose
