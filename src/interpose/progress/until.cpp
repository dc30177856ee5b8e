#include "interpose/progress/until.hpp"

namespace omnes::interpose {

bool waits_for_host_by_tests = false;

void wait_for_host_by_tests() {
  if (waits_for_host_by_tests) return;
  waits_for_host_by_tests = true;
  detours.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace omnes::interpose
