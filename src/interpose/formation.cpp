// Makes the team of a communicator.
//
// Overview: every rank introduces itself; from the introductions all ranks derive alike who shares memory with whom.
// The first rank of each group makes a segment and hands out its ticket; when all ranks of the communicator have
// attached, they use it. When any rank could not, they all try the next medium, and in the end messages. Only where
// messages are needed there is a shadow communicator.
// How: with collectives of the host on the communicator itself. We are inside a collective of it, so they cannot meet
// the program's own, and no further communicator is used up.
#include "interpose/formation.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "interpose/failure.hpp"
#include "interpose/process.hpp"
#include "interpose/report.hpp"
#include "transport/mpi/port.hpp"

namespace omnes {

namespace {

void check(int code) {
  if (code != MPI_SUCCESS) throw Failure{code, true};
}

/// Ranks with equal `memory` can map each other's segments.
struct Introduction {
  std::uint64_t fingerprint;
  std::uint64_t memory;
  std::int64_t session;  ///< see yields_reach
  std::uint64_t cpus;    ///< which CPUs the rank may run on, as a hash
  std::int64_t cpu_count;
};

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  return hash * 0x9E3779B97F4A7C15u + std::hash<std::string_view>{}(text);
}

/// The kernel that runs this process, and which other processes it can see.
std::uint64_t identity_of_machine() {
  std::uint64_t hash = 0;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  hash = mix(hash, boot);
  utsname names;
  if (uname(&names) == 0) hash = mix(hash, names.nodename);
  for (const char* space : {"/proc/self/ns/pid", "/proc/self/ns/user"}) {
    struct stat status;
    if (stat(space, &status) == 0) hash = mix(hash, std::to_string(status.st_ino));
  }
  return mix(hash, std::to_string(geteuid()));
}

Introduction introduce(int rank, int p) {
  const Process& self = process();
  static const std::uint64_t machine = identity_of_machine();
  Introduction me{self.fingerprint, machine, getsid(0), 0, 0};
  if (self.settings.transport == Transport::mpi) {
    me.memory = mix(machine, std::to_string(rank));
  } else if (self.settings.fake_nodes > 1) {
    const auto pretended = static_cast<std::int64_t>(rank) * self.settings.fake_nodes / p;
    me.memory = mix(machine, std::to_string(pretended));
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    me.cpus = mix(0, {reinterpret_cast<const char*>(&set), sizeof set});
    me.cpu_count = CPU_COUNT(&set);
  }
  return me;
}

/// True when all ranks were started together. Others (MPI_Comm_spawn, MPI_Comm_connect) may not have this library.
bool within_one_world(MPI_Comm comm, int p) {
  MPI_Group ours, world;
  check(host.Comm_group(comm, &ours));
  check(host.Comm_group(handles.comm_world, &world));
  std::vector<int> ranks(p), in_world(p);
  std::iota(ranks.begin(), ranks.end(), 0);
  const int code = host.Group_translate_ranks(ours, p, ranks.data(), world, in_world.data());
  host.Group_free(&ours);
  host.Group_free(&world);
  check(code);
  return std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) == in_world.end();
}

/// What the ranks know about each other.
struct Company {
  MPI_Comm comm;
  int p = 1;
  int rank = 0;
  std::vector<Introduction> all;
  std::vector<int> node;    // rank -> first rank of its node
  int here = 1;             // ranks on this node
  int number = 0;           // this rank's among them
  bool some_share = false;  // some node has several ranks
  bool one_node = true;
};

Company meet(MPI_Comm comm, int p, int rank) {
  Company company{comm, p, rank, std::vector<Introduction>(p), std::vector<int>(p)};
  const Introduction me = introduce(rank, p);
  constexpr int bytes = sizeof me;
  check(host.Allgather(&me, bytes, handles.byte, company.all.data(), bytes, handles.byte, comm));
  std::map<std::uint64_t, int> first;
  for (int r = 0; r < p; ++r) company.node[r] = first.try_emplace(company.all[r].memory, r).first->second;
  const int mine = company.node[rank];
  company.here = static_cast<int>(std::count(company.node.begin(), company.node.end(), mine));
  company.number = static_cast<int>(std::count(company.node.begin(), company.node.begin() + rank, mine));
  company.some_share = first.size() < static_cast<std::size_t>(p);
  company.one_node = first.size() == 1;
  return company;
}

bool all_agree(const Company& company, bool mine) {
  const int own = mine;
  int all = 0;
  check(host.Allreduce(&own, &all, 1, handles.integer, handles.min, company.comm));
  return all != 0;
}

/// Ranks of this node against the CPUs that they may run on (ranks bound to the same CPUs share them).
bool oversubscribed(const Company& company) {
  std::map<std::uint64_t, std::int64_t> cpus;
  for (int r = 0; r < company.p; ++r)
    if (company.node[r] == company.node[company.rank]) cpus[company.all[r].cpus] = company.all[r].cpu_count;
  std::int64_t available = 0;
  for (const auto& [set, count] : cpus) available += count;
  return company.here > available;
}

/// Linux may schedule each session as a group of its own ("autogroup"), and then sched_yield() hands the CPU only to
/// processes of the same session. Some launchers start every rank in a session of its own.
bool yields_reach(const Company& company) {
  int grouped = 0;
  std::ifstream("/proc/sys/kernel/sched_autogroup_enabled") >> grouped;
  if (!grouped) return true;
  for (int r = 0; r < company.p; ++r)
    if (company.node[r] == company.node[company.rank] && company.all[r].session != company.all[company.rank].session)
      return false;
  return true;
}

struct Offer {
  shm::Ticket ticket;
  bool made = false;
};

/// Null, for all ranks or none with company, when it did not work everywhere.
std::unique_ptr<shm::Endpoint> share_memory(const Company& company, shm::Medium medium, bool& agreed) {
  const Settings& settings = process().settings;
  std::string error;
  std::shared_ptr<shm::Segment> segment;
  Offer mine;
  if (company.here > 1 && company.number == 0) {
    const shm::Geometry geometry{company.here, settings.slots, settings.slot_bytes};
    segment = shm::Segment::create(geometry, medium, mine.ticket, error);
    mine.made = segment != nullptr;
  }
  std::vector<Offer> offers(company.p);
  check(host.Allgather(&mine, sizeof mine, handles.byte, offers.data(), sizeof mine, handles.byte, company.comm));
  const Offer& offer = offers[company.node[company.rank]];
  if (company.number > 0 && offer.made) segment = shm::Segment::attach(offer.ticket, error);

  std::unique_ptr<shm::Endpoint> endpoint;
  if (segment) endpoint = std::make_unique<shm::Endpoint>(segment, company.number);
  agreed = all_agree(company, endpoint != nullptr || company.here == 1);
  if (segment) segment->everyone_attached();
  if (!agreed) return nullptr;
  if (endpoint && settings.single_copy) {
    endpoint->set_single_copy_from(*settings.single_copy);
    endpoint->probe_single_copy();
  }
  return endpoint;
}

MPI_Comm shadow_of(MPI_Comm comm) {
  MPI_Group group;
  MPI_Comm shadow;
  check(host.Comm_group(comm, &group));
  const int code = host.Comm_create(comm, group, &shadow);
  host.Group_free(&group);
  check(code);
  check(host.Comm_set_errhandler(shadow, handles.errors_return));
  return shadow;
}

}  // namespace

void poke(void* /*context*/) {
  MPI_Request idle = process().idle;
  int flag = 0;
  host.Test(&idle, &flag, MPI_STATUS_IGNORE);
}

std::unique_ptr<State> form(MPI_Comm comm) {
  auto state = std::make_unique<State>();
  state->shadow = handles.comm_null;
  int inter = 0;
  check(host.Comm_test_inter(comm, &inter));
  if (inter) {
    state->passed = "intercommunicator";
    return state;
  }
  check(host.Comm_size(comm, &state->p));
  check(host.Comm_rank(comm, &state->rank));

  if (!within_one_world(comm, state->p)) {
    state->passed = "ranks of several MPI_COMM_WORLDs";
    return state;
  }

  TeamSetup setup;
  setup.p = state->p;
  setup.rank = state->rank;
  setup.selector = &*process().selector;
  if (state->p > 1) {
    const Company company = meet(comm, state->p, state->rank);
    const auto differs = [&](const Introduction& other) { return other.fingerprint != company.all[0].fingerprint; };
    if (std::any_of(company.all.begin(), company.all.end(), differs)) {
      state->passed = "OMNES_ variables differ between ranks";
      return state;
    }
    bool shared = !company.some_share;
    for (const shm::Medium medium : {shm::Medium::nameless, shm::Medium::file})
      if (!shared) setup.shm = share_memory(company, medium, shared);
    if (!shared)
      note("a communicator of " + std::to_string(state->p) + " ranks could not share memory: messages instead");
    setup.node = company.node;
    if (!company.one_node || !setup.shm) {
      state->shadow = shadow_of(comm);
      setup.port = message_port(state->shadow);
    } else {
      // Only where nothing but shared memory can bring news a rank may sleep.
      setup.waiting.asleep = setup.shm->asleep();
    }
    const Wait wait = process().settings.wait;
    setup.waiting.oversubscribed = wait == Wait::yield || (wait == Wait::automatic && oversubscribed(company));
    setup.waiting.yields_reach = yields_reach(company);
    if (wait == Wait::spin) setup.waiting.asleep = nullptr;
    setup.waiting.poke = poke;
  }
  state->team = std::make_unique<Team>(std::move(setup));
  return state;
}

}  // namespace omnes
