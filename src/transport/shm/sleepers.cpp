// Waking peers for something else than messages of an endpoint: the list of the endpoints whose peers may sleep.
#include <algorithm>
#include <mutex>
#include <vector>

#include "transport/shm/endpoint.hpp"

namespace omnes::shm {

namespace {

struct List {
  std::mutex mutex;
  std::vector<Endpoint*> endpoints;
  std::size_t next = 0;
};
auto& list = *new List;  // never destroyed: threads of the host may look at it until the process ends

}  // namespace

std::atomic<int> Endpoint::may_wake_ = 0;

void Endpoint::let_peers_be_woken() {
  const std::lock_guard lock(list.mutex);
  if (listed_) return;
  listed_ = true;
  list.endpoints.push_back(this);
  ++may_wake_;
}

Endpoint::~Endpoint() {
  if (!listed_) return;
  const std::lock_guard lock(list.mutex);
  std::erase(list.endpoints, this);
  --may_wake_;
}

void Endpoint::wake_next_sleepers() {
  const std::unique_lock lock(list.mutex, std::try_to_lock);
  if (!lock.owns_lock() || list.endpoints.empty()) return;
  if (++list.next >= list.endpoints.size()) list.next = 0;
  list.endpoints[list.next]->wake_others();
}

}  // namespace omnes::shm
