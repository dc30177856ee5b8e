// Waiting for the host while operations of ours are under way: a function that waits becomes a loop of the one that only
// tests.
#pragma once

#include "interpose/progress/engine.hpp"

namespace omnes::interpose {

/// Whether there is anything to do meanwhile; else the host, which is found now, may wait by itself.
inline bool ours() {
  if (straight()) [[likely]]
    return false;
  find_host();
  return engine::busy();
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
    if (something || looks % looks_between_tests == 0 || looks > max_short_looks) {
      int flag = 0;
      const int code = test(&flag);
      if (flag || code != MPI_SUCCESS) return code;
    }
    waiter.pause();
  }
}

/// Until the request is complete.
inline int wait_for(MPI_Request request, MPI_Status* status) {
  return until([&](int* flag) { return host.Test(&request, flag, status); });
}

}  // namespace omnes::interpose
