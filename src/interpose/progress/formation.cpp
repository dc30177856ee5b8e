// Makes the team of a communicator, and opens its lanes.
//
// Overview: since MPI_Init every rank knows who shares memory with whom, so a team is made without asking. To open its
// lanes, the first rank of each node makes a segment, and all ranks exchange tickets and tags; whoever has the tickets
// may begin, as a new segment is what all queues start from. Only the segment's maker must keep it reachable until all
// have come.
//
// Opening the lanes is collective, like the call that wants it, and MPI lets only one thread at a time be in a
// collective of one communicator. So no lock is held meanwhile, and threads of different communicators cannot block
// each other in different orders on different ranks.
#include "interpose/progress/formation.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <string>

#include "interpose/communicator/membership.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/host/inside.hpp"
#include "interpose/host/table_of_all.hpp"
#include "interpose/process/own_memory.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"
#include "interpose/progress/background.hpp"
#include "interpose/progress/engine.hpp"
#include "interpose/progress/failures.hpp"

namespace omnes::interpose {

namespace {

constexpr int blocking_lane = 0, first_nonblocking_lane = 1;

constexpr std::size_t short_part =
    8 * 1024;  // bytes; longer ones would keep each other from the caches, and fill the queues

int number_here(const State& state) {
  return static_cast<int>(std::find(state.here.begin(), state.here.end(), state.rank) - state.here.begin());
}

bool shares(const State& state) { return state.here.size() > 1; }

shm::Sharing sharing(const State& state, bool blocking = false) {
  return {static_cast<int>(state.here.size()), state.own_cpus, blocking};
}

/// Their segments would take memory at once. Alike on all ranks.
bool in_files(const State& state) { return state.world->medium == shm::Medium::file; }

/// As the first of its node. Returns whether there was memory for it.
bool make_segment(const State& state, Lanes& lanes, int lane_count, shm::Ticket& ticket) {
  shm::Sharing wanted = sharing(state);
  const bool files = in_files(state);
  if (files) wanted.own_cpus = false;  // fewer slots: /dev/shm may be small
  const bool first = lane_count == first_lanes;
  const shm::Geometry geometry = process().settings.shared_memory.geometry_for(
      wanted, first ? lane_count - short_lanes : lane_count, first && !files ? short_lanes : 0);
  std::string error;
  lanes.segment = shm::Segment::create(geometry, files ? shm::Medium::file : shm::Medium::pool, ticket, error);
  return lanes.segment != nullptr;
}

/// What this rank brings: a block of tags where messages may be needed, and, as the first of its node, a segment.
Contact make_contact(const State& state, Lanes& lanes, int lane_count) {
  Contact contact;
  if (state.messages) lanes.first_tag = contact.first_tag = take_tags();
  contact.wanted = shares(state) && number_here(state) == 0;
  if (contact.wanted) contact.made = make_segment(state, lanes, lane_count, contact.ticket);
  return contact;
}

/// Makes use of what all have brought. Throws Failure, on all ranks alike where it can be seen in the contacts.
void accept(State& state, Lanes& lanes, const std::vector<Contact>& contacts) {
  for (const Contact& contact : contacts) {
    if (contact.wanted && !contact.made) throw Failure{MPI_ERR_NO_MEM};
    if (state.messages && contact.first_tag < 0) throw Failure{MPI_ERR_OTHER};
  }
  if (state.messages) {
    Addresses& addresses = lanes.addresses;
    addresses.comm = state.world->comm;
    addresses.ranks = state.ranks;
    addresses.own = state.rank;
    for (const Contact& contact : contacts) addresses.tags.push_back(contact.first_tag);
  }
  if (!shares(state) || number_here(state) == 0) return;
  std::string error;
  lanes.segment = shm::Segment::attach(contacts[state.here[0]].ticket, error);
  if (!lanes.segment) throw Failure{MPI_ERR_NO_MEM};
}

/// Runs a collective of the host, which `start(request)` starts, to its end, while ours go on.
template <class Start>
void run_by_host(Start start) {
  MPI_Request request;
  {
    const InsideHost guard;
    check_raised(start(&request));
  }
  for (int flag = 0; !flag; engine::advance()) check_raised(host.Test(&request, &flag, MPI_STATUS_IGNORE));
}

void open(State& state, Lanes& lanes, int index, Lane& lane, bool blocking = false) {
  std::unique_ptr<shm::Endpoint> endpoint;
  if (index < first_lanes && lanes.kept[index]) {
    endpoint = std::move(lanes.kept[index]);
  } else if (lanes.segment) {
    endpoint = std::make_unique<shm::Endpoint>(lanes.segment, number_here(state), 0, index);
    std::vector<shm::Access> accesses;
    const bool only_slots = failures::are_survived();
    for (const int r : state.here)
      accesses.push_back(r == state.rank || only_slots ? shm::Access{} : state.world->access_to(state.ranks[r]));
    endpoint->know_access(accesses);
    const shm::Policy& policy = process().settings.shared_memory;
    const shm::Sharing carried = sharing(state, blocking);
    endpoint->set_single_copy_from(only_slots ? shm::never : policy.single_copy_from(carried));
    endpoint->set_direct_copy_from(only_slots ? shm::never : policy.direct_copy_from(carried), own_heap());
    if (!simulated && !only_slots) {
      endpoint->use_windows(&shared_windows());
      endpoint->adopt_by(adoption(), shm::Policy::adopt_from(carried));
    }
    const shm::WaitPolicy& waiting = state.team->waiting();
    if ((waiting.oversubscribed && !waiting.yields_reach) || process().settings.async) endpoint->fence_wakes();
    if (const auto& words = state.world->sleep_words; !words.empty())
      for (std::size_t i = 0; i < state.here.size(); ++i)
        endpoint->sleeps_at(static_cast<int>(i), words[state.ranks[state.here[i]]]);
  }
  MessagePort port;
  if (state.messages) {
    lanes.mailboxes[index] = {&lanes.addresses, index};
    port = message_port(lanes.mailboxes[index]);
  }
  lane.open(std::move(endpoint), port);
}

// Looks for others, when nothing tells that they will come soon.
constexpr int patience = 10000;
// Looks at what the first member says, about 1 us.
constexpr int looks_at_once = 64;

// ns, with the kernel's timer slack twice as long: what a message of the host may wait for a rank that sleeps and that
// nobody wakes for it.
constexpr std::int64_t longest_sleep_unless_woken = 50'000;

// Bytes of slots that a process touches when it first opens lanes, which are mostly those of all ranks: a large message
// would take five times as long for it. Where ranks share CPUs, they would wait for each other meanwhile.
constexpr std::size_t touched_first = 256 * 1024;

void open_first_lanes(State& state, std::unique_ptr<Lanes> lanes) {
  open(state, *lanes, blocking_lane, state.team->lane(), true);
  static std::atomic<bool> touched = false;
  if (lanes->segment && state.own_cpus && !touched.exchange(true, std::memory_order_relaxed))
    state.team->lane().endpoint()->touch_slots(touched_first);
  if (number_here(state) == 0 && lanes->segment && lanes->segment->waits_for_all()) keep_reachable(lanes->segment);
  shm::WaitPolicy waiting = state.team->waiting();
  // Only where nothing but shared memory can bring news a rank may sleep.
  if (lanes->segment && !state.messages) state.world->let_sleep(waiting);
  if (!has_hook()) waiting.longest_sleep = longest_sleep_unless_woken;
  waiting.poke = poke;
  state.team->wait_so(waiting);
  state.lanes = std::move(lanes);
  state.formed = true;
}

/// The first member's bulletins may be written by several threads.
std::mutex announcing;

/// The first member takes lanes that all have let go, or makes some, and says so; the others take the same ones.
/// Returns whether that is done. Throws Failure, on all members alike where the first one has.
bool try_agreement(State& state) {
  Membership& membership = *state.membership;
  std::unique_ptr<Lanes> lanes;
  if (number_here(state) == 0) {
    const std::lock_guard lock(announcing);
    shm::Bulletin bulletin = state.world->bulletin(state.ranks[0]);
    if (!bulletin.has_room(state.id)) return false;
    lanes = lanes_all_let_go(membership);
    if (!lanes) {
      lanes = std::make_unique<Lanes>();
      if (!make_segment(state, *lanes, first_lanes, lanes->ticket)) {
        if (!all_sealed()) return false;  // they hold descriptors, for a while
        lanes->ticket = {};
      }
    }
    bulletin.put(state.id, lanes->ticket, state.p - 1);
  } else {
    const auto ticket = state.world->bulletin(state.ranks[0]).take(state.id);
    if (!ticket) return false;
    if (ticket->nonce != 0) lanes = lanes_let_go(membership, ticket->nonce);
    if (!lanes) {
      lanes = std::make_unique<Lanes>();
      std::string error;
      if (ticket->nonce != 0) lanes->segment = shm::Segment::attach(*ticket, error);
      lanes->ticket = *ticket;
    }
  }
  if (!lanes->segment) throw Failure{MPI_ERR_NO_MEM};
  open_first_lanes(state, std::move(lanes));
  return true;
}

}  // namespace

namespace {

/// Between groups: what the first rank of each has got of the other one is what that one needs of itself. Of `sizes` bytes of each
/// rank in `all`.
int begin_own_group(const State& state, void* all, std::size_t size, std::vector<int>& bytes,
                    std::vector<int>& displacements, MPI_Comm comm, MPI_Request* request) {
  const Range own = state.own_group(), remote = state.remote_group();
  const auto of = [&](Range group) { return static_cast<int>(size) * group.count; };
  const auto from = [&](Range group) { return static_cast<std::byte*>(all) + size * group.first; };
  bytes.assign(remote.count, 0);
  displacements.assign(remote.count, 0);
  bytes.front() = of(own);
  return host.Iallgatherv(from(remote), state.rank == own.first ? of(remote) : 0, handles.byte, from(own), bytes.data(),
                          displacements.data(), handles.byte, comm, request);
}

/// Brings `size` bytes of each rank of the other group to its place in `all`, as the collective of an intercommunicator does.
int begin_remote_group(const State& state, const void* mine, void* all, std::size_t size, MPI_Comm comm,
                       MPI_Request* request) {
  const int bytes = static_cast<int>(size);
  std::byte* const into =
      static_cast<std::byte*>(all) + size * (state.first_group > 0 ? state.remote_group().first : 0);
  return host.Iallgather(mine, bytes, handles.byte, into, bytes, handles.byte, comm, request);
}

void exchange_own_group(const State& state, Formation& formation) {
  const InsideHost guard;
  formation.has_own_group = true;
  check_raised(begin_own_group(state, formation.all.data(), sizeof(Contact), formation.bytes, formation.displacements,
                               formation.comm, &formation.request));
}

}  // namespace

bool forms_by_host(const State& state) { return state.id == 0 || state.messages || !state.world->has_bulletins; }

bool try_formation(State& state) {
  if (state.formed) return true;
  if (state.broken != 0) throw Failure{state.broken};
  const bool by_host = forms_by_host(state);
  if (by_host && inside_progress() && !is_complete(state.formation->request)) return false;
  int flag = 0;
  try {
    if (!by_host) return try_agreement(state);
    check_raised(host.Test(&state.formation->request, &flag, MPI_STATUS_IGNORE));
    if (!flag) return false;
    if (!state.formation->has_own_group) {
      exchange_own_group(state, *state.formation);
      return false;
    }
    const std::unique_ptr<Formation> ended = std::move(state.formation);
    accept(state, *ended->lanes, ended->all);
    open_first_lanes(state, std::move(ended->lanes));
  } catch (const Failure& failure) {
    state.broken = failure.code;
    throw;
  } catch (const std::bad_alloc&) {
    state.broken = MPI_ERR_NO_MEM;
    throw Failure{MPI_ERR_NO_MEM};
  }
  return true;
}

namespace {

/// `wait`: the caller goes on to end_formation().
void begin_formation(const std::shared_ptr<State>& shared, MPI_Comm comm, bool wait) {
  State& state = *shared;
  state.begun = true;
  if (state.p == 1) {
    open_first_lanes(state, std::make_unique<Lanes>());
    return;
  }
  if (!forms_by_host(state)) {
    // The others are on their way, if ranks wait for each other here: the engine need not hear of it.
    for (int looks = wait && state.own_cpus ? looks_at_once : 1; looks > 0; --looks)
      if (try_formation(state)) return;
    engine::forms(shared);
    return;
  }
  if constexpr (simulated) {
    const InsideHost guard;
    auto lanes = std::make_unique<Lanes>();
    accept(state, *lanes, *table_of_all(make_contact(state, *lanes, first_lanes), state.rank, state.p, comm));
    open_first_lanes(state, std::move(lanes));
    return;
  }
  seal_segments();
  auto formation = std::make_unique<Formation>(comm);
  formation->lanes = std::make_unique<Lanes>();
  formation->mine = make_contact(state, *formation->lanes, first_lanes);
  formation->all.resize(state.p);
  formation->has_own_group = state.first_group == 0;
  {
    const InsideHost guard;
    check_raised(
        begin_remote_group(state, &formation->mine, formation->all.data(), sizeof(Contact), comm, &formation->request));
  }
  state.formation = std::move(formation);
  engine::forms(shared);
}

/// Waits for it. The others may need messages of the host first, that go on meanwhile. Throws Failure.
void end_formation(State& state, MPI_Comm comm) {
  const failures::Watch watch(state, comm);
  shm::WaitPolicy waiting = state.team->waiting();
  waiting.poke = poke;
  waiting.may_nap = false;  // looks are counted below
  shm::Waiter waiter(waiting);
  if (!state.formed) {
    try {
      while (!engine::form(state)) {
        engine::advance();
        waiter.pause();
      }
    } catch (const Failure&) {
      engine::abandon(state);
      throw;
    }
    engine::advance();  // which need not think of it any more
  }
  // If the others are in this call, too, the maker of the segment sees it found at once.
  const shm::Endpoint* const endpoint = state.team->lane().endpoint();
  if (!endpoint || number_here(state) > 0 || all_sealed()) return;
  for (int looks = 0; looks < patience && !endpoint->all_have_come(); ++looks) {
    engine::advance();
    waiter.pause();
  }
  seal_segments();
}

}  // namespace

void open_lanes(State& state, MPI_Comm comm, bool wait) {
  if (state.formed) [[likely]]
    return;
  if (!state.begun) begin_formation(state.shared_from_this(), comm, wait);
  if (!wait) return;
  end_formation(state, comm);
  if (!recording())
    state_cache.put(comm, &state, StateCache::generation(comm));  // nobody frees it while it is in a call
}

void open_nonblocking(State& state, Lane& lane) {
  open(state, *state.lanes, first_nonblocking_lane + static_cast<int>(&lane - state.nonblocking), lane);
}

Lane& nonblocking_lane(State& state, const Call& call) {
  // How long a part is, all ranks know alike, where parts are equal.
  const bool is_short = !unequal(call.operation) && call.neighbors == nullptr && state.first_group == 0 &&
                        call.count * call.element <= short_part && !in_files(state);
  return state.nonblocking[is_short ? 1 + state.short_begun++ % short_lanes : 0];
}

void gather_from_all(const State& state, const void* mine, void* all, std::size_t bytes, MPI_Comm comm) {
  run_by_host([&](MPI_Request* request) { return begin_remote_group(state, mine, all, bytes, comm, request); });
  if (state.first_group == 0) return;
  std::vector<int> of_each, displacements;
  run_by_host(
      [&](MPI_Request* request) { return begin_own_group(state, all, bytes, of_each, displacements, comm, request); });
}

State::Own& take_lane(State& state, MPI_Comm comm) {
  const auto least_of_all = [&](const int* mine, int* all, int count) {
    const auto least = [&](const int* own) {
      run_by_host([&](MPI_Request* request) {
        return host.Iallreduce(own, all, count, handles.integer, handles.min, comm, request);
      });
    };
    least(mine);
    if (state.first_group == 0) return;
    std::vector<int> so_far(all, all + count);  // of the other group, which then brings that of this one back
    for (int i = 0; i < count; ++i) so_far[i] = std::min(so_far[i], mine[i]);
    least(so_far.data());
  };
  if (state.free.empty() && !state.own.empty()) {
    std::vector<int> mine, all(state.own.size());
    for (const State::Own& own : state.own) mine.push_back(own.released);
    least_of_all(mine.data(), all.data(), static_cast<int>(all.size()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i]) continue;
      state.own[i].released = false;
      state.free.push_back(static_cast<int>(i));
    }
  }
  if (state.free.empty()) {
    auto lanes = std::make_unique<Lanes>();
    if (state.p > 1) {
      const Contact mine = make_contact(state, *lanes, lanes_per_block);
      std::vector<Contact> all(state.p);
      gather_from_all(state, &mine, all.data(), sizeof mine, comm);
      int accepted = 1, by_all = 0;
      try {
        accept(state, *lanes, all);
      } catch (const Failure&) {
        accepted = 0;
      }
      least_of_all(&accepted, &by_all, 1);
      if (lanes->segment) lanes->segment->everyone_attached();
      if (!by_all) throw Failure{MPI_ERR_NO_MEM};
    }
    for (int i = 0; i < lanes_per_block; ++i) {
      state.free.push_back(static_cast<int>(state.own.size()));
      state.own.emplace_back();
    }
    state.own_lanes.push_back(std::move(lanes));
  }
  const int index = state.free.front();
  state.free.pop_front();
  State::Own& own = state.own[index];
  if (!own.lane.is_open()) open(state, *state.own_lanes[index / lanes_per_block], index % lanes_per_block, own.lane);
  return own;
}

}  // namespace omnes::interpose
