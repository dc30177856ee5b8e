// The table of what has been made.
#include "interpose/communicator/origins.hpp"

#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpose/communicator/members.hpp"
#include "interpose/communicator/state.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose {

namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<MPI_Comm, Origin> origins;
  std::map<std::vector<int>, std::uint64_t> made_by;  ///< see known_by_members()

  /// With the mutex. Null where nothing is known.
  Origin* find(MPI_Comm comm) {
    const auto found = origins.find(comm);
    if (found != origins.end()) return &found->second;
    const bool world = comm == handles.comm_world;
    if (!world && comm != handles.comm_self) return nullptr;
    return &origins.emplace(comm, Origin{.id = world ? 1U : 2U, .check = world ? 1U : 2U}).first->second;
  }
};

Table& table() {
  static Table* const the = new Table;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

/// For one that some of its parent's members have made: the number of such communicators that the same ranks have made before, in order.
/// 0: it has others than the world's ranks.
std::uint64_t known_by_members(MPI_Comm comm) {
  const int size = size_of(comm);
  std::vector<int> ranks;
  if (size > 0) {
    ranks = ranks_in_world(comm, size);
  } else {
    BothGroups both = ranks_of_both(*world(), comm);
    ranks = std::move(both.ranks);
    if (!ranks.empty()) ranks.push_back(-both.first_group);  // no communicator of one group
  }
  if (ranks.empty()) return 0;
  const std::lock_guard lock(table().mutex);
  std::uint64_t hash = 0;
  for (const int rank : ranks) hash = mixed(hash + static_cast<std::uint64_t>(rank) + 1);
  return mixed(hash + ++table().made_by[ranks]) | 4U;
}

}  // namespace

Origin child_of(MPI_Comm parent, MadeOf members, bool ordered) {
  const std::lock_guard lock(table().mutex);
  Origin* const origin = table().find(parent);
  if (!origin) return {};
  Origin child;
  child.of_session = origin->of_session;
  if (members != MadeOf::strangers) child.met = origin->met;
  constexpr std::uint64_t apart = 0x9E3779B97F4A7C15u;  // so that no two have one identity
  if (members == MadeOf::both) {  // all of both groups call it, in order, but only of those that have met it is known
    if (child.met) {
      child.number = ++origin->made;
      child.id = child.check = mixed(origin->check + child.number * apart) | 4U;
    }
    return child;
  }
  if (!ordered) {
    if (members == MadeOf::same && origin->check != 0)
      child.check = mixed(mixed(origin->check) + ++origin->duplicated * apart) | 4U;
    return child;
  }
  child.number = ++origin->made;
  if (origin->id != 0) child.id = mixed(origin->id + child.number * apart) | 4U;  // nobody else's
  if (origin->check != 0) child.check = mixed(origin->check + child.number * apart) | 4U;
  if (members == MadeOf::same) {
    if (!origin->kin) origin->kin = std::make_shared<Kin>();
    child.kin = origin->kin;
  }
  return child;
}

void not_made(MPI_Comm parent, const Origin& child) {
  const std::lock_guard lock(table().mutex);
  Origin* const origin = table().find(parent);
  // A function of the program that copies attributes may have made some meanwhile.
  if (origin && child.number != 0 && origin->made == child.number) --origin->made;
}

Origin origin_between(std::shared_ptr<const World> met) {
  return {.check = met->all[0].nonce | 4U, .met = std::move(met)};
}

void keep_made(Origin&& origin, const void* made) {
  if (!made) return;
  const MPI_Comm comm = *static_cast<const MPI_Comm*>(made);
  if (comm == handles.comm_null) return;
  // Should the host itself have freed one of this handle, it ends now.
  if (checking() && origin.check == 0 && !origin.of_session) origin.check = known_by_members(comm);
  const bool known = origin.id != 0 || origin.check != 0 || origin.of_session || origin.met;
  if (const Origin last = known ? keep_origin(comm, std::move(origin)) : take_origin(comm); last.state)
    StateCache::forget(comm);
}

Origin origin_of(MPI_Comm comm) {
  const std::lock_guard lock(table().mutex);
  const Origin* const origin = table().find(comm);
  return origin ? *origin : Origin{};
}

Origin take_origin(MPI_Comm comm) {
  if (comm == handles.comm_world || comm == handles.comm_self) return {};  // they stay, and numbers are given once
  const std::lock_guard lock(table().mutex);
  const auto found = table().origins.find(comm);
  if (found == table().origins.end()) return {};
  Origin origin = std::move(found->second);
  table().origins.erase(found);
  return origin;
}

Origin keep_origin(MPI_Comm comm, Origin origin) {
  const std::lock_guard lock(table().mutex);
  return std::exchange(table().origins[comm], std::move(origin));
}

void keep_state(MPI_Comm comm, std::shared_ptr<State> state) {
  const std::lock_guard lock(table().mutex);
  table().find(comm)->state = std::move(state);
}

}  // namespace omnes::interpose
