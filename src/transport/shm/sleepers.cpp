// Waking peers for something else than messages of an endpoint: the list of the endpoints whose peers may sleep.
#include <algorithm>
#include <mutex>
#include <vector>

#include "transport/shm/endpoint.hpp"

namespace omnes::shm {

namespace {

// Programs that test for messages in a loop ask with each turn on their CPU, and the lock, the fence and the words of all
// peers make a turn 3 to 5 % longer: so many calls go without a look, unless the last one found somebody asleep.
constexpr std::uint32_t max_calls_without = 3;

struct List {
  std::mutex mutex;
  std::vector<Endpoint*> endpoints;
  std::size_t next = 0;
  std::uint32_t without = 0;  // calls between the last look and the next one
};
auto& list = *new List;  // never destroyed: threads of the host may look at it until the process ends

}  // namespace

Endpoint::Looks Endpoint::looks_;

void Endpoint::let_peers_be_woken() {
  const std::lock_guard lock(list.mutex);
  if (listed_) return;
  listed_ = true;
  list.endpoints.push_back(this);
  ++looks_.endpoints;
}

Endpoint::~Endpoint() {
  if (!listed_) return;
  const std::lock_guard lock(list.mutex);
  std::erase(list.endpoints, this);
  --looks_.endpoints;
}

void Endpoint::wake_next_sleepers() {
  const std::unique_lock lock(list.mutex, std::try_to_lock);
  if (!lock.owns_lock() || list.endpoints.empty()) return;
  if (++list.next >= list.endpoints.size()) list.next = 0;
  const bool any = list.endpoints[list.next]->wake_others();
  list.without = any ? 0 : std::min(list.without + 1, max_calls_without);
  looks_.calls_to_go.store(list.without, std::memory_order_relaxed);
}

}  // namespace omnes::shm
