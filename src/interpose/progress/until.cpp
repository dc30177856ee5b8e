#include "interpose/progress/until.hpp"

#include "interpose/progress/failures.hpp"

namespace omnes::interpose {

namespace {

/// How this thread waits inside the host.
shm::Waiter& waiter_in_host() {
  static const shm::WaitPolicy policy = [] {
    shm::WaitPolicy in_host = engine::waiting();
    in_host.poke = nullptr;  // the host is looking already
    return in_host;
  }();
  static thread_local shm::Waiter waiter(policy);
  return waiter;
}

}  // namespace

bool waits_for_host_by_tests = false;

void wait_for_host_by_tests() {
  if (waits_for_host_by_tests) return;
  waits_for_host_by_tests = true;
  detours.fetch_add(1, std::memory_order_relaxed);
}

void pause_in_host() {
  if (poking()) return;
  shm::wake_sleepers();
  if (waits_for_host_by_tests) waiter_in_host().pause();
}

void has_not_waited_in_host() { waiter_in_host().reset(); }

int wait_for(MPI_Request request, MPI_Status* status) {
  const auto test = [&](int* flag) { return host.Test(&request, flag, status); };
  const int code = until(test);
  if (code == MPI_SUCCESS || !failures::leaves_pending(code)) return code;
  host.Cancel(&request);
  until(test);
  return failures::proc_failed;
}

}  // namespace omnes::interpose
