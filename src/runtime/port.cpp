// What has been left to the host.
#include "runtime/port.hpp"

#include <mutex>
#include <new>
#include <vector>

namespace omnes::inline runtime {

void leave_to_host(void* memory) noexcept {
  static auto& mutex = *new std::mutex;
  static auto& left = *new std::vector<void*>;  // so that it is no leak
  if (memory == nullptr) return;
  const std::lock_guard lock(mutex);
  try {
    left.push_back(memory);
  } catch (const std::bad_alloc&) {  // it stays all the same
  }
}

}  // namespace omnes::inline runtime
