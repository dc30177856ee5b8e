// The communicators that have a module of ours, and what all their members know of them alike.
//
// How they are known by a number (interpose/communicator/origins.hpp): no two communicators of the same members have one context at the same
// time, and one context comes back to the same members in the same order on all of them. So the members, the context, and how often these have
// had it are the same on all, and nobody else's.
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "component/bridge.h"
#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/communicator/state.hpp"
#include "interpose/process/own_memory.hpp"

namespace omnes::interpose {

namespace {

struct Known {
  OmnesModule* module;
  Origin origin;
};

struct Table {
  std::mutex mutex;
  std::unordered_map<MPI_Comm, Known> communicators;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> times;  ///< by members and context

  /// With the mutex. Null: it has no module.
  Known* find(MPI_Comm comm) {
    const auto found = communicators.find(comm);
    return found == communicators.end() ? nullptr : &found->second;
  }
};

Table& table() {
  static Table* const the = new Table;  // never destroyed: communicators may go after everything else
  return *the;
}

void set_state(OmnesModule& module, State* state) { __atomic_store_n(&module.state, state, __ATOMIC_RELEASE); }

}  // namespace

Origin origin_of(MPI_Comm comm) {
  const std::lock_guard lock(table().mutex);
  const Known* const known = table().find(comm);
  return known ? known->origin : Origin{};
}

Origin take_origin(MPI_Comm comm) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().communicators.find(comm);
  if (found == table().communicators.end()) return {};
  Origin origin = std::move(found->second.origin);
  table().communicators.erase(found);
  return origin;
}

void keep_state(MPI_Comm comm, std::shared_ptr<State> state) {
  const std::lock_guard lock(table().mutex);
  table().find(comm)->origin.state = std::move(state);
}

void StateCache::put(MPI_Comm comm, State* state, std::uint64_t) {
  const std::lock_guard lock(table().mutex);
  if (Known* const known = table().find(comm)) set_state(*known->module, state);
}

void StateCache::forget(MPI_Comm comm) { StateCache().put(comm, nullptr, 0); }

void StateCache::forget_all() {
  const std::lock_guard lock(table().mutex);
  for (auto& [comm, known] : table().communicators) set_state(*known.module, nullptr);
}

}  // namespace omnes::interpose

using namespace omnes::interpose;

extern "C" void omnes_communicator_made(MPI_Comm comm, OmnesModule* module, std::uint64_t members,
                                        std::uint32_t context) {
  const std::lock_guard lock(table().mutex);
  const std::uint64_t times = ++table().times[{members, context}];
  const std::uint64_t id = mixed(mixed(mixed(members) + context) + times) | 4U;
  table().communicators.insert_or_assign(comm, Known{module, Origin{.id = id, .check = id}});
}

extern "C" void omnes_communicator_gone(MPI_Comm comm) {
  retire(comm);
  free_communicator(comm, [] { return MPI_SUCCESS; });
}

extern "C" void omnes_window_made() { windows_made = true; }
