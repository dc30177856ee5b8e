// Sums up what the states have counted.
#include "interpose/communicator/counts.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "interpose/communicator/state.hpp"

namespace omnes::interpose::counts {

std::atomic<bool> wanted{false};
Each not_blocking, passed;

namespace {

struct All {
  std::mutex mutex;
  std::set<const State*> live;
  Each gone{};
};

All& all() {
  static All* const the = new All;  // never destroyed: states may outlive main()
  return *the;
}

}  // namespace

void enlist(const State& state) {
  const std::lock_guard lock(all().mutex);
  all().live.insert(&state);
}

void retire(const State& state) {
  const std::lock_guard lock(all().mutex);
  all().live.erase(&state);
  for (int i = 0; i < operation_count; ++i) all().gone[i] += state.served[i];
}

std::uint64_t served(Operation operation) {
  const auto at = static_cast<std::size_t>(operation);
  const std::lock_guard lock(all().mutex);
  std::uint64_t sum = all().gone[at] + not_blocking[at];
  for (const State* state : all().live) sum += state->served[at];
  return sum;
}

std::uint64_t communicators() {
  const std::lock_guard lock(all().mutex);
  return std::ranges::count_if(all().live, [](const State* state) { return state->formed && !state->detached; });
}

}  // namespace omnes::interpose::counts
