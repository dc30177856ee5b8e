// Introductions, and what follows from them.
#include "interpose/process/world.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <ranges>
#include <set>
#include <string>
#include <utility>

#include "interpose/host/handle_cache.hpp"
#include "interpose/host/port.hpp"
#include "interpose/host/table_of_all.hpp"
#include "interpose/process/notes.hpp"
#include "interpose/process/own_memory.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/tag_pool.hpp"
#include "topology/quota.hpp"
#include "transport/shm/cma.hpp"
#include "transport/shm/nonce.hpp"

namespace omnes::interpose {

namespace {

World* the_world = nullptr;  // never destroyed: MPI may be finalised by a destructor
TagPool* tags = nullptr;     // likewise

// ns; who yields to another that only waits, too, uses up what those that compute are to get.
constexpr std::int64_t sleep_after_when_short_of_time = 50'000;

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  return hash * 0x9E3779B97F4A7C15u + std::hash<std::string_view>{}(text);
}

std::string name_of_machine() {
  if constexpr (simulated) {
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length = 0;
    host.Get_processor_name(name, &length);
    return name;
  }
  utsname names{};
  uname(&names);
  return names.nodename;
}

/// The kernel that runs this process, and which other processes it can see.
std::uint64_t identity_of_machine() {
  std::uint64_t hash = 0;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  hash = mix(hash, boot);
  hash = mix(hash, name_of_machine());
  for (const char* space : {"/proc/self/ns/pid", "/proc/self/ns/user"}) {
    struct stat status;
    if (stat(space, &status) == 0) hash = mix(hash, std::to_string(status.st_ino));
  }
  return mix(hash, std::to_string(geteuid()));
}

/// Ranks of a simulated machine are bound to nothing.
Whereabouts find_whereabouts(std::uint64_t memory) {
  const std::optional<Network>& known = process().network;
  const Network* network = known ? &*known : nullptr;
  if constexpr (simulated) {
    InnerUnits inner;
    inner.fill(no_unit);
    return whereabouts(name_of_machine(), inner, network, memory);
  }
  return own_whereabouts(name_of_machine(), network, memory);
}

Introduction introduce(World& w) {
  const auto [rank, size] = std::pair(w.rank, w.size);
  w.nonce = shm::new_nonce();

  const Process& self = process();
  const std::uint64_t machine = simulated ? mix(0, name_of_machine()) : identity_of_machine();
  Introduction me{};
  me.fingerprint = self.fingerprint;
  me.machine = machine;
  me.memory = machine;
  if (self.settings.transport == Transport::mpi) {
    me.memory = mix(machine, std::to_string(rank));
  } else if (self.settings.fake_nodes > 1) {
    const auto pretended = static_cast<std::int64_t>(rank) * self.settings.fake_nodes / size;
    me.memory = mix(machine, std::to_string(pretended));
  }
  me.whereabouts = find_whereabouts(me.memory);
  me.session = getsid(0);
  me.unattended = unattended();
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    me.cpus = mix(0, {reinterpret_cast<const char*>(&set), sizeof set});
    me.cpu_count = CPU_COUNT(&set);
  }
  if constexpr (!simulated) me.cpu_quota = cpu_quota().value_or(0);
  me.pid = getpid();
  me.fast_caches = shm::caches_are_fast;
  if (const shm::Heap* heap = own_heap()) me.heap = heap->ticket();
  // Not where each communicator is to be told of by itself, nor where members may be gone.
  const Settings& settings = self.settings;
  me.spares = !settings.stats && !settings.record && settings.check == Check::off && !seldom.may_be_revoked;
  me.address = reinterpret_cast<std::uint64_t>(&w.nonce);
  me.nonce = w.nonce;
  return me;
}

/// Calls `start(request)` and waits. Used where the host's own waits do not yield, though ranks may share CPUs: Open MPI's do.
template <class Start>
int start_and_wait(Start start) {
  MPI_Request request = handles.request_null;
  int code = start(&request);
  for (int done = 0; code == MPI_SUCCESS && !done;) {
    code = host.Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) sched_yield();
  }
  return code;
}
constexpr bool host_yields = built_for == Family::ompi || simulated;

int gather_introductions(MPI_Comm comm, Introduction& mine, std::span<Introduction> all) {
  constexpr int bytes = sizeof mine;
  if constexpr (host_yields) return host.Allgather(&mine, bytes, handles.byte, all.data(), bytes, handles.byte, comm);
  return start_and_wait([&](MPI_Request* request) {
    return host.Iallgather(&mine, bytes, handles.byte, all.data(), bytes, handles.byte, comm, request);
  });
}

int least_of_all(MPI_Comm comm, bool mine, bool& all) {
  const int own = mine;
  int least = 0, code;
  if constexpr (host_yields)
    code = host.Allreduce(&own, &least, 1, handles.integer, handles.min, comm);
  else
    code = start_and_wait([&](MPI_Request* request) {
      return host.Iallreduce(&own, &least, 1, handles.integer, handles.min, comm, request);
    });
  all = least != 0;
  return code;
}

/// Whether limits on the size of files let this rank make every segment that it may have to, up to those of persistent
/// lanes; and, in files, whether there is room for one of all ranks here.
bool may_make_segments(const World& w, const Introduction& mine, shm::Medium medium) {
  const auto here = [&](const Introduction& other) { return other.memory == mine.memory; };
  const auto bytes_of = [](const shm::Sharing& sharing, int lanes) {
    return process().settings.shared_memory.geometry_for(sharing, lanes).total_bytes();
  };
  const auto most = static_cast<int>(std::ranges::count_if(w.all, here));
  for (int ranks = most; ranks > 1; --ranks)
    if (!shm::Segment::may_be_made(bytes_of({.ranks = ranks}, lanes_per_block))) return false;
  if (medium != shm::Medium::file || most < 2) return true;
  return shm::Segment::has_room(
      bytes_of({.ranks = most, .own_cpus = false}, first_lanes - short_lanes));  // as formation makes it
}

/// What the ranks of a node share from the start: as many sleep words as there are ranks, in whole slots, one behind each
/// other; before them, a slot for each rank, their bulletins, if there are any.
constexpr std::size_t words_in_slot = shm::Bulletin::bytes / sizeof(shm::SleepWord);
int slots_for_words(const World& w) { return static_cast<int>((w.size + words_in_slot - 1) / words_in_slot); }

/// Without bulletins where they are not allowed, and in a file, which would take memory at once.
std::shared_ptr<shm::Segment> make_common(const World& w, shm::Medium medium, shm::Ticket& ticket) {
  std::string error;
  std::shared_ptr<shm::Segment> made;
  const int words = slots_for_words(w);
  if (medium == shm::Medium::nameless)
    made = shm::Segment::create({w.size + words, 1, shm::Bulletin::bytes}, medium, ticket, error);
  const std::size_t bytes = std::min(words_in_slot, static_cast<std::size_t>(w.size)) * sizeof(shm::SleepWord);
  return made ? made : shm::Segment::create({words, 1, bytes}, medium, ticket, error);
}

shm::SleepWord* sleep_word(const World& w, int rank) {
  const int first = w.common->geometry().p - slots_for_words(w), slot = static_cast<int>(rank / words_in_slot);
  auto* const words = reinterpret_cast<shm::SleepWord*>(w.common->layout().slot(first + slot, 0));
  return words + rank % words_in_slot;
}

/// Tries what the first rank with this memory offers. All ranks learn whether it worked everywhere.
int try_medium(MPI_Comm comm, World& w, shm::Medium medium, Introduction& mine, bool& works) {
  std::string error;
  std::shared_ptr<shm::Segment> offered = make_common(w, medium, mine.ticket);
  if (!offered) mine.ticket.pid = 0;
  if (const int code = gather_introductions(comm, mine, w.all); code != MPI_SUCCESS) return code;
  const int first = w.first_here();
  const shm::Ticket& ticket = w.all[first].ticket;
  std::shared_ptr<shm::Segment> found = offered;
  if (first != w.rank) found = ticket.pid != 0 ? shm::Segment::attach(ticket, error) : nullptr;
  const int code = least_of_all(comm, may_make_segments(w, mine, medium) && found, works);
  if (code != MPI_SUCCESS || !works) return code;
  found->everyone_attached();
  w.common = std::move(found);
  w.has_bulletins = w.common->geometry().p > slots_for_words(w);
  return code;
}

/// Which ranks' memory this rank can read. A process that has gone meanwhile, or another in its place, shows no nonce.
void find_readable(World& w, const Introduction& mine) {
  w.readable.assign(w.size, 0);
  for (int r = 0; r < w.size; ++r) {
    const Introduction& other = w.all[r];
    if (r == w.rank || other.memory != mine.memory) continue;
    std::uint64_t found = 0;
    if (shm::read_process(other.pid, other.address, &found, sizeof found) == 0 && found == other.nonce)
      w.readable[r] = other.pid;
  }
}

int find_shared_memory(MPI_Comm comm, World& w, Introduction& mine) {
  w.introductions = std::make_shared<std::vector<Introduction>>(w.size);
  w.all = *w.introductions;
  for (const shm::Medium medium : {shm::Medium::nameless, shm::Medium::file}) {
    bool works = false;
    if (const int code = try_medium(comm, w, medium, mine, works); code != MPI_SUCCESS) return code;
    if (!works) continue;
    w.medium = medium;
    break;
  }
  if (!w.medium) note("ranks could not share memory: messages instead");
  find_readable(w, mine);
  return MPI_SUCCESS;
}

/// Of all ranks. Open MPI's MPI_Comm_create runs nonblocking collectives on the communicator that it is given, after
/// which every look for messages calls their progress function, too: the program's tests of requests take 5 % longer.
int create(MPI_Comm comm, MPI_Group group, MPI_Comm& made) {
#ifdef OMNES_ABI_OMPI
  constexpr int tag = 0;  // nobody else is at it now
  if (host.Comm_create_group) return host.Comm_create_group(comm, group, tag, &made);
#endif
  return host.Comm_create(comm, group, &made);
}

int make_private_communicator(MPI_Comm comm, MPI_Comm& made) {
#ifndef OMNES_ABI_SMPI
  if (!host_yields && host.Comm_idup) {  // the program has put no attributes there yet
    const int code = start_and_wait([&](MPI_Request* request) { return host.Comm_idup(comm, &made, request); });
    return code == MPI_SUCCESS ? host.Comm_set_errhandler(made, handles.errors_return) : code;
  }
#endif
  MPI_Group group;
  if (const int code = host.Comm_group(comm, &group); code != MPI_SUCCESS) return code;
  const int code = create(comm, group, made);
  host.Group_free(&group);
  return code == MPI_SUCCESS ? host.Comm_set_errhandler(made, handles.errors_return) : code;
}

/// Linux may schedule each session as a group of its own ("autogroup"), and then sched_yield() hands the CPU only to
/// processes of the same session. Some launchers start every rank in a session of its own.
bool sessions_are_apart() {
  int enabled = 0;
  std::ifstream("/proc/sys/kernel/sched_autogroup_enabled") >> enabled;
  return enabled != 0;
}

/// Ranks against the CPUs that they may run on, which they share with all that may run on the same ones: members of a
/// communicator take turns with those that are none. And against the CPU time that they may use together: what a rank
/// uses up while it waits, be it by yields, the others lack.
void see_who_shares_cpus(World& w) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> on;
  std::map<std::uint64_t, int> on_node;
  for (const Introduction& rank : w.all) ++on[{rank.memory, rank.cpus}], ++on_node[rank.memory];
  const auto exceeds_quota = [&](const Introduction& rank) {
    return rank.cpu_quota > 0 && on_node[rank.memory] > rank.cpu_quota;
  };
  const Introduction& own = w.all[w.rank];
  const bool apart = sessions_are_apart();
  w.short_of_time = exceeds_quota(own);
  w.yields_reach = !w.short_of_time;
  for (const Introduction& rank : w.all) {
    w.shares_cpu.push_back(on[{rank.memory, rank.cpus}] > rank.cpu_count || exceeds_quota(rank));
    if (apart && rank.memory == own.memory && rank.cpus == own.cpus && rank.session != own.session)
      w.yields_reach = false;
  }
}

}  // namespace

int World::first_here() const {
  int first = 0;
  while (all[first].memory != all[rank].memory) ++first;
  return first;
}

shm::WaitPolicy World::waiting(std::span<const int> ranks) const {
  const Wait wait = process().settings.wait;
  const auto shares = [&](int r) { return all[r].memory == all[rank].memory && shares_cpu[r]; };
  shm::WaitPolicy policy;
  policy.oversubscribed = wait == Wait::yield || (wait == Wait::automatic && std::ranges::any_of(ranks, shares));
  policy.yields_reach = yields_reach;
  policy.may_nap = wait != Wait::spin;
  if (short_of_time) policy.sleep_after = sleep_after_when_short_of_time;
  return policy;
}

shm::WaitPolicy World::waiting() const {
  std::vector<int> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return waiting(ranks);
}

bool World::own_cpus(std::span<const int> ranks) const {
  return std::ranges::none_of(ranks, [&](int r) { return shares_cpu[r]; });
}

Placed World::place(std::span<const int> ranks) const {
  std::vector<Whereabouts> records;
  for (const int r : ranks) records.push_back(all[r].whereabouts);
  return omnes::place(records, process().settings.levels);
}

namespace {

int introduce_all(World& w, MPI_Comm comm) {
  if (const int code = host.Comm_rank(comm, &w.rank); code != MPI_SUCCESS) return code;
  if (const int code = host.Comm_size(comm, &w.size); code != MPI_SUCCESS) return code;
  Introduction mine = introduce(w);
  if constexpr (simulated) {
    w.introductions = table_of_all(mine, w.rank, w.size, comm);
    w.all = *w.introductions;
  } else if (const int code = find_shared_memory(comm, w, mine); code != MPI_SUCCESS) {
    return code;
  }
  see_who_shares_cpus(w);
  return host.Comm_group(comm, &w.group);
}

/// Only ranks that have started together know each other's words all their lives.
void let_ranks_sleep(World& w) {
  if (!w.common || process().settings.wait == Wait::spin) return;
  std::vector<shm::SleepWord*> others;
  for (int r = 0; r < w.size; ++r) {
    const bool here = w.all[r].memory == w.all[w.rank].memory;
    w.sleep_words.push_back(here ? sleep_word(w, r) : nullptr);
    if (here && r != w.rank) others.push_back(w.sleep_words[r]);
  }
  const shm::WaitPolicy policy = w.waiting();
  if (!policy.oversubscribed) return;
  shm::watch_sleepers(others, !policy.yields_reach || process().settings.async);
  if (process().threads) return;
  shm::say_where_when_waking(w.own_sleep_word());
  w.spreading = std::make_unique<shm::Spreading>(*w.own_sleep_word(), std::move(others), own_cpus,
                                                 [](int cpu) { return near_cpus(cpu); });
}

}  // namespace

int meet() {
  if (the_world) return MPI_SUCCESS;
  auto made = std::make_unique<World>();
  if (const int code = introduce_all(*made, handles.comm_world); code != MPI_SUCCESS) return code;
  if (const int code = make_private_communicator(handles.comm_world, made->comm); code != MPI_SUCCESS) return code;

  int found = 0;
  void* bound = nullptr;
  constexpr int always = 32767;  // what MPI guarantees
  if (host.Comm_get_attr(handles.comm_world, MPI_TAG_UB, &bound, &found) != MPI_SUCCESS) found = 0;
  const int last = found ? std::max(*static_cast<int*>(bound), always) : always;
  tags = new TagPool(0, tags_per_block, last - tags_per_block);
  let_ranks_sleep(*made);
  the_world = made.release();
  return MPI_SUCCESS;
}

const World* world() { return the_world; }

int meet(MPI_Comm comm, std::unique_ptr<World>& made) {
  made = std::make_unique<World>();
  made->comm = handles.comm_null;
  if (const int code = introduce_all(*made, comm); code != MPI_SUCCESS) return code;
  const auto is_here = [&](const Introduction& other) { return other.memory == made->all[0].memory; };
  if (made->medium && std::ranges::all_of(made->all, is_here)) return MPI_SUCCESS;  // nobody needs messages
  return make_private_communicator(comm, made->comm);
}

namespace {

std::mutex ending;
std::vector<std::unique_ptr<World>> ended;  // guarded by `ending`

}  // namespace

void end(std::unique_ptr<World> world) {
  const std::lock_guard lock(ending);
  ended.push_back(std::move(world));
}

void free_worlds() {
  std::vector<std::unique_ptr<World>> all;
  {
    const std::lock_guard lock(ending);
    all.swap(ended);
  }
  for (const auto& world : all) {
    host.Group_free(&world->group);
    if (world->comm != handles.comm_null) host.Comm_free(&world->comm);
  }
}

void World::let_sleep(shm::WaitPolicy& policy) const {
  policy.sleep_word = own_sleep_word();
  if (!policy.sleep_word) return;
  policy.by = this;
  policy.shares_cpu = [](const void* by) {
    const World& self = *static_cast<const World*>(by);
    return shm::share_cpu(*self.own_sleep_word(), self.sleep_words);
  };
  if (spreading) policy.spread_out = [](const void* by) { static_cast<const World*>(by)->spreading->look(); };
}

shm::Access World::access_to(int other) const {
  shm::Access found;
  if (process().settings.shared_memory.single_copy != shm::never) found.pid = readable[other];
  if (process().settings.heap == HeapUse::off) return found;
  const std::lock_guard lock(mutex_);
  const auto [heap, is_new] = heaps_.try_emplace(other);
  if (is_new) heap->second = shm::PeerHeap::map(all[other].heap);
  found.heap = heap->second;
  return found;
}

int take_tags() { return tags->take(); }
void return_tags(int first) { tags->give_back(first); }

}  // namespace omnes::interpose
