// The memberships of this process, and what they keep.
#include "interpose/communicator/membership.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <new>
#include <unordered_map>
#include <utility>

#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose {

namespace {

constexpr std::size_t max_states = 16;
constexpr std::size_t max_idle_bytes = std::size_t{96} << 20;  // of lanes, as they are sized; few pages are touched
constexpr std::size_t max_idle = 64;

struct All {
  std::mutex mutex;  ///< taken before a membership's own
  std::map<std::pair<const World*, std::vector<int>>, std::shared_ptr<Membership>> by_ranks;  ///< by key_of()
  std::atomic<int> idle = 0;              ///< states and lanes, of all memberships
  std::atomic<int> most = idle_at_first;  ///< before they are looked through
  static constexpr int idle_at_first = 512;
};

All& all() {
  static All* const the = new All;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

bool too_many(const Membership& m) {
  return m.idle.size() > std::clamp(max_idle_bytes / m.idle.front()->segment->bytes(), std::size_t{1}, max_idle);
}

/// With the mutex. Whether these lanes shall go: only the first member decides, as it hands them out.
bool to_go(const Lanes& lanes, int number) {
  const shm::Segment& segment = *lanes.segment;
  if (number > 0) return shm::Endpoint::given_up(segment, 0);
  if (!shm::Endpoint::all_have_let_go(segment, lanes.times_let_go) && !shm::Endpoint::given_up_by_any(segment))
    return false;
  shm::Endpoint::give_up(segment, 0);
  return true;
}

/// Whether there is memory for one more.
template <class List>
bool have_room(List& list) try {
  list.emplace_back();
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

int number_here(const Members& members) {
  return static_cast<int>(std::ranges::find(members.here, members.rank) - members.here.begin());
}

/// Many groups have come and gone: starts over.
void forget_what_is_idle() {
  All& a = all();
  const std::lock_guard lock(a.mutex);
  int left = 0;
  for (auto at = a.by_ranks.begin(); at != a.by_ranks.end();) {
    Membership& m = *at->second;
    {
      const std::lock_guard own(m.mutex);
      m.states.clear();
      std::erase_if(m.idle, [&](const auto& lanes) { return to_go(*lanes, number_here(m.members)); });
      left += static_cast<int>(m.idle.size());
    }
    at = m.idle.empty() && at->second.use_count() == 1 ? a.by_ranks.erase(at) : std::next(at);
  }
  a.idle = left;
  a.most = std::max(All::idle_at_first, 2 * left);
}

/// With the mutex: bounds what is kept. Members that are behind let go what the first one has given up.
void tidy(Membership& m, int number) {
  if (m.idle.empty() || !too_many(m)) return;
  for (auto at = m.idle.begin(); at != m.idle.end() && too_many(m);) {
    if (to_go(**at, number)) {
      at = m.idle.erase(at);
      --all().idle;
    } else {
      ++at;
    }
  }
}

}  // namespace

namespace {

/// What tells memberships of one world apart: their ranks, and of those of intercommunicators also how many are in the first group.
std::vector<int> key_of(const Members& members) {
  std::vector<int> key = members.ranks;
  if (members.first_group > 0) key.push_back(-members.first_group);
  return key;
}

/// Who they are in that world. Returns whether they are in it. Throws Failure.
bool look_up(Members& members, const World& world, MPI_Comm comm, int p) {
  members.world = &world;
  check_raised(host.Comm_rank(comm, &members.rank));
  if (p > 0) {
    members.ranks = ranks_in(world, comm, p);
  } else {
    BothGroups both = ranks_of_both(world, comm);
    members.ranks = std::move(both.ranks);
    members.first_group = both.first_group;
    if (!both.in_first) members.rank += both.first_group;
  }
  members.p = static_cast<int>(members.ranks.size());
  return members.p > 0;
}

/// The one of these members; null: they are new.
std::shared_ptr<Membership> membership_of(const Members& members) {
  const std::lock_guard lock(all().mutex);
  const auto found = all().by_ranks.find({members.world, key_of(members)});
  return found == all().by_ranks.end() ? nullptr : found->second;
}

bool have_one_twice(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  return std::ranges::adjacent_find(ranks) != ranks.end();
}

}  // namespace

std::shared_ptr<Membership> ask_for_members(MPI_Comm comm, int p, const World* met, const char*& passed) {
  Members members;
  if (!look_up(members, *world(), comm, p) && !(met && look_up(members, *met, comm, p))) {
    passed = "ranks of several MPI_COMM_WORLDs";
    return nullptr;
  }
  if (members.first_group > 0 && have_one_twice(members.ranks)) {
    passed = "intercommunicator of groups that overlap";
    return nullptr;
  }
  if (std::shared_ptr<Membership> known = membership_of(members)) return known;
  const World& w = *members.world;
  const auto introduction = [&](int rank) -> const Introduction& { return w.all[members.ranks[rank]]; };

  TeamSetup setup;
  setup.p = members.p;
  setup.rank = members.rank;
  setup.first_group = members.first_group;
  setup.selector = &*process().selector;
  setup.machine = process().machine;
  setup.waiting = w.waiting(members.ranks);
  setup.waiting.others = &under_way;
  setup.shares_memory = w.medium.has_value();
  setup.own_cpus = members.own_cpus = w.own_cpus(members.ranks);
  setup.fast_caches = true;  // if all say so
  setup.host = host_lets_others_go_on();
  std::unordered_map<std::uint64_t, int> first;  // rank with that memory
  for (int r = 0; r < members.p; ++r) {
    if (introduction(r).fingerprint != introduction(0).fingerprint) {
      passed = "OMNES_ variables or tables differ between ranks";
      return nullptr;
    }
    setup.node.push_back(first.try_emplace(introduction(r).memory, r).first->second);
    const bool is_here = r == members.rank || (w.medium && introduction(r).memory == introduction(members.rank).memory);
    if (is_here) members.here.push_back(r);
  }
  for (int r = 0; r < members.p; ++r) {
    members.unattended = std::min(members.unattended, introduction(r).unattended);
    members.spares = members.spares && introduction(r).spares;
    setup.fast_caches = setup.fast_caches && introduction(r).fast_caches;
  }
  // Alike on all ranks: a rank that needs no messages itself may be needed by others that do.
  members.messages = members.p > 1 && (!w.medium || first.size() > 1);
  setup.placement = w.place(members.ranks).placement;
  auto membership = std::make_shared<Membership>();
  membership->members = std::move(members);
  membership->setup = std::move(setup);
  const std::lock_guard lock(all().mutex);
  return all().by_ranks.try_emplace({&w, key_of(membership->members)}, membership).first->second;
}

std::shared_ptr<Membership> membership_of(const Kin& kin) {
  const std::lock_guard lock(all().mutex);
  return kin.membership;
}

void keep_membership(const std::shared_ptr<Membership>& membership, Kin& kin) {
  const std::lock_guard lock(all().mutex);
  kin.membership = membership;
}

std::shared_ptr<const World> kept(std::unique_ptr<World> world) {
  return {world.release(), [](World* last) {
            std::unique_ptr<World> gone(last);
            std::vector<std::shared_ptr<Membership>> memberships;
            {
              All& a = all();
              const std::lock_guard lock(a.mutex);
              std::erase_if(a.by_ranks, [&](const auto& entry) {
                if (entry.first.first != last) return false;
                Membership& m = *memberships.emplace_back(entry.second);
                const std::lock_guard own(m.mutex);
                a.idle -= static_cast<int>(m.states.size() + m.idle.size());
                return true;
              });
            }
            memberships.clear();
            end(std::move(gone));
          }};
}

std::shared_ptr<State> state_for(std::shared_ptr<Membership> membership) {
  std::unique_ptr<State> state;
  {
    const std::lock_guard lock(membership->mutex);
    if (!membership->states.empty()) {
      state = std::move(membership->states.back());
      membership->states.pop_back();
      --all().idle;
    }
  }
  if (!state) {
    state = std::make_unique<State>();
    static_cast<Members&>(*state) = membership->members;
    state->team = std::make_unique<Team>(membership->setup);
  }
  state->met = membership->members.world->weak_from_this().lock();
  state->membership = std::move(membership);
  return State::shared(std::move(state));
}

std::unique_ptr<Lanes> lanes_all_let_go(Membership& membership) {
  const std::lock_guard lock(membership.mutex);
  for (auto at = membership.idle.rbegin(); at != membership.idle.rend(); ++at) {  // the last ones are the warmest
    if (!shm::Endpoint::all_have_let_go(*(*at)->segment, (*at)->times_let_go)) continue;
    std::unique_ptr<Lanes> lanes = std::move(*at);
    membership.idle.erase(std::next(at).base());
    --all().idle;
    return lanes;
  }
  return nullptr;
}

std::unique_ptr<Lanes> lanes_let_go(Membership& membership, std::uint64_t nonce) {
  const std::lock_guard lock(membership.mutex);
  const auto at = std::ranges::find(membership.idle, nonce, [](const auto& lanes) { return lanes->ticket.nonce; });
  if (at == membership.idle.end()) return nullptr;
  std::unique_ptr<Lanes> lanes = std::move(*at);
  membership.idle.erase(at);
  --all().idle;
  return lanes;
}

void inherit(std::unique_ptr<State> state) {
  const std::shared_ptr<const World> met = std::move(state->met);  // the last to go
  const std::shared_ptr<Membership> membership = std::move(state->membership);
  if (!membership) return;
  Membership& m = *membership;
  const bool clean = !state->formed || (!state->unclean && state->broken == 0 && !may_be_revoked);
  const bool alike = !state->own_choices && !state->edges && state->own.empty() && !reporting();
  std::unique_ptr<shm::Endpoint> endpoints[first_lanes];
  std::unique_ptr<Lanes> lanes;
  if (m.members.p > 1) {  // alone it needs nobody to open them
    endpoints[0] = state->team->lane().close();
    for (int i = 1; i < first_lanes; ++i) endpoints[i] = state->nonblocking[i - 1].close();
    lanes = std::move(state->lanes);
    if (lanes && !clean) lanes->first_tag = -1;  // messages of what has failed may come: nobody gets these tags again
    state->team->wait_so(m.setup.waiting);       // not on a sleep word of lanes that are gone
  }
  {
    const std::lock_guard lock(m.mutex);
    if (clean && alike && m.states.size() < max_states && have_room(m.states)) {
      state->begin_anew();
      m.states.back() = std::move(state);
      ++all().idle;
    }
    if (lanes && lanes->ticket.nonce != 0) {
      const shm::Segment& segment = *lanes->segment;
      const int number = number_here(m.members);
      if (clean && have_room(m.idle)) {
        for (int i = 0; i < first_lanes; ++i)
          if (endpoints[i]) lanes->kept[i] = std::move(endpoints[i]);
        const std::uint32_t times = ++lanes->times_let_go;
        m.idle.back() = std::move(lanes);
        ++all().idle;
        shm::Endpoint::let_go(segment, number, times);
      } else {
        shm::Endpoint::give_up(segment, number);
      }
      tidy(m, number);
    }
  }
  if (all().idle > all().most) forget_what_is_idle();
}

}  // namespace omnes::interpose
