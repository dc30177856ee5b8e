// Gives back what lanes had, and keeps segments until they are sealed.
#include "interpose/communicator/lanes.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "interpose/process/world.hpp"

namespace omnes::interpose {

namespace {

struct Unsealed {
  std::mutex mutex;
  std::vector<std::shared_ptr<shm::Segment>> segments;
  std::atomic<int> count = 0;
} unsealed;

}  // namespace

Lanes::~Lanes() {
  if (first_tag >= 0) return_tags(first_tag);
}

void keep_reachable(std::shared_ptr<shm::Segment> segment) {
  const std::lock_guard lock(unsealed.mutex);
  unsealed.segments.push_back(std::move(segment));
  ++unsealed.count;
}

bool all_sealed() { return unsealed.count.load(std::memory_order_relaxed) == 0; }

bool seal_segments() {
  if (all_sealed()) return true;
  const std::lock_guard lock(unsealed.mutex);
  std::erase_if(unsealed.segments, [](const std::shared_ptr<shm::Segment>& segment) {
    if (!shm::Endpoint::all_have_come(*segment)) return false;
    segment->everyone_attached();
    return true;
  });
  unsealed.count = static_cast<int>(unsealed.segments.size());
  return unsealed.segments.empty();
}

}  // namespace omnes::interpose
