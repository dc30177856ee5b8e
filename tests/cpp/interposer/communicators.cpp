// Communicators, groups, attributes, error handlers, and the process.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "functions.hpp"
#include "inside.hpp"

namespace fake {

namespace {

int made(MPI_Comm* made, Comm&& comm, MPI_Comm parent) {
  comm.handler = comm_at(parent).handler;
  *made = process().comms.add(std::move(comm));
  return MPI_SUCCESS;
}

/// The context of the child that these ranks are to have: the first to ask makes it.
int context_of_child(int parent, long number, int color) {
  const std::lock_guard lock(shared->lock);
  const auto [known, is_new] = shared->contexts.try_emplace({{parent, number}, color}, shared->next_context);
  if (is_new) ++shared->next_context;
  return known->second;
}

struct Wish {
  int color, key, rank;
};

/// Makes a communicator of those who bring the same color; order by key, then rank.
MPI_Request split(MPI_Comm parent_handle, Wish mine, MPI_Comm* child,
                  std::function<void(Comm& child, const Comm& parent)> with) {
  Comm& parent = comm_at(parent_handle);
  mine.rank = parent.rank;
  const long number = parent.collectives;
  return gather(parent_handle, bytes_of(&mine, sizeof mine), [=](const std::pmr::vector<Bytes>& all) {
    std::vector<Wish> wishes;
    for (const Bytes& bytes : all) {
      Wish wish;
      std::memcpy(&wish, bytes.data(), sizeof wish);
      if (wish.color == mine.color) wishes.push_back(wish);
    }
    *child = MPI_COMM_NULL;
    if (mine.color == MPI_UNDEFINED) return MPI_SUCCESS;
    std::stable_sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) { return a.key < b.key; });
    const Comm& of = comm_at(parent_handle);
    Comm comm;
    comm.context = context_of_child(of.context, number, mine.color);
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      if (wishes[i].rank == of.rank) comm.rank = static_cast<int>(i);
      comm.ranks.push_back(of.ranks[wishes[i].rank]);
    }
    if (with) with(comm, of);
    return made(child, std::move(comm), parent_handle);
  });
}

int now(MPI_Comm parent, Wish mine, MPI_Comm* child, std::function<void(Comm&, const Comm&)> with = {}) {
  MPI_Request request;
  {
    const std::lock_guard lock(process().mutex);
    request = split(parent, mine, child, std::move(with));
  }
  return finish(request);
}

std::map<int, void*> take_attributes(MPI_Comm handle) {
  const std::lock_guard lock(process().mutex);
  return std::exchange(comm_at(handle).attributes, {});
}

/// The callbacks may call MPI: the process is not locked meanwhile.
void delete_attributes(MPI_Comm handle) {
  for (auto all = take_attributes(handle); !all.empty(); all = take_attributes(handle))
    for (const auto& [keyval, value] : all)
      if (keyval != MPI_TAG_UB) delete_attribute(handle, keyval, value);
}

int free_comm(MPI_Comm* handle) {
  if (*handle == MPI_COMM_WORLD || *handle == MPI_COMM_SELF) return raised(MPI_COMM_SELF, MPI_ERR_COMM);
  delete_attributes(*handle);
  const std::lock_guard lock(process().mutex);
  process().comms.remove(*handle);
  *handle = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int tag_bound = 1 << 24;

}  // namespace

int create_keyval(MPI_Comm_delete_attr_function* deleted, int* keyval, void* extra) {
  const std::lock_guard lock(process().mutex);
  *keyval = process().keyvals.add(Process::Keyval{
      [=](int object, int key, void* value) { return deleted ? deleted(object, key, value, extra) : MPI_SUCCESS; }});
  return MPI_SUCCESS;
}

int set_attribute(std::map<int, void*>& attributes, int object, int keyval, void* value) {
  if (const auto before = attributes.find(keyval); before != attributes.end())
    delete_attribute(object, keyval, before->second);
  attributes[keyval] = value;
  return MPI_SUCCESS;
}

int get_attribute(const std::map<int, void*>& attributes, int keyval, void* value, int* flag) {
  const auto found = attributes.find(keyval);
  *flag = found != attributes.end();
  if (*flag) *static_cast<void**>(value) = found->second;
  return MPI_SUCCESS;
}

void delete_attribute(int object, int keyval, void* value) {
  const auto deleted = [&] {
    const std::lock_guard lock(process().mutex);
    return process().keyvals.at(keyval).deleted;
  }();
  const InMpi interposer;  // whose callback it is
  deleted(object, keyval, value);
}

Process& process() {
  static Process* const the = new Process;
  return *the;
}

Comm& comm_at(MPI_Comm handle) {
  Process& p = process();
  if (!p.initialized || p.finalized) misuse("a communicator is used while MPI is not initialized");
  if (handle == MPI_COMM_WORLD) return *p.world;
  if (handle == MPI_COMM_SELF) return *p.self;
  return p.comms.at(handle);
}

int raised(MPI_Comm comm, int code) {
  if (code == MPI_SUCCESS) return code;
  Process& p = process();
  if (!p.initialized || p.finalized) return ++errors_handled, code;
  const MPI_Errhandler handler = comm_at(comm).handler;
  if (handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT) {
    shared->ranks[own].error = true;
    leave(0);
  }
  ++errors_handled;
  if (handler != MPI_ERRORS_RETURN) (*p.handlers.at(handler))(&comm, &code);
  return code;
}

// ---- MPI's functions ------------------------------------------------------------------------------------------------------

int Init_thread(int*, char***, int required, int* provided) {
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  p.level = *provided = required;
  p.main = std::this_thread::get_id();
  p.initialized = true;
  p.world = std::make_unique<Comm>();
  for (int r = 0; r < job.ranks; ++r) p.world->ranks.push_back(r);
  p.world->rank = own;
  p.world->attributes[MPI_TAG_UB] = &tag_bound;
  p.self = std::make_unique<Comm>();
  p.self->ranks = {own};
  p.self->context = -1 - own;  // nobody else's
  // So that programs learn of errors from the first call on.
  p.world->handler = p.self->handler = MPI_ERRORS_RETURN;
  return MPI_SUCCESS;
}
int Init(int* argc, char*** argv) {
  int provided;
  return Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}
int Query_thread(int* level) {
  *level = process().level;
  return MPI_SUCCESS;
}
int Initialized(int* flag) {
  *flag = process().initialized;
  return MPI_SUCCESS;
}
int Finalized(int* flag) {
  *flag = process().finalized;
  return MPI_SUCCESS;
}
int Finalize() {
  Process& p = process();
  delete_attributes(MPI_COMM_SELF);
  delete_attributes(MPI_COMM_WORLD);
  if (const int code = Barrier(MPI_COMM_WORLD); code != MPI_SUCCESS) return code;
  p.finalized = true;
  return MPI_SUCCESS;
}
int Abort(MPI_Comm, int) {
  shared->ranks[own].error = true;
  leave(0);
}
int Get_processor_name(char* name, int* length) {
  std::strcpy(name, "fake");
  *length = 4;
  return MPI_SUCCESS;
}

int Comm_rank(MPI_Comm comm, int* rank) {
  const std::lock_guard lock(process().mutex);
  *rank = comm_at(comm).rank;
  return MPI_SUCCESS;
}
int Comm_size(MPI_Comm comm, int* size) {
  const std::lock_guard lock(process().mutex);
  *size = static_cast<int>(comm_at(comm).group.value_or(comm_at(comm).ranks).size());
  return MPI_SUCCESS;
}
int Comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
int Comm_test_inter(MPI_Comm comm, int* flag) {
  const std::lock_guard lock(process().mutex);
  *flag = comm_at(comm).group.has_value();
  return MPI_SUCCESS;
}

int Comm_dup(MPI_Comm parent, MPI_Comm* child) {
  if (Comm twin = comm_at(parent); twin.group) {
    Barrier(parent);
    const std::lock_guard lock(process().mutex);
    twin.attributes.clear();
    twin.context = context_of_child(twin.context, twin.collectives, 1);
    twin.collectives = 0;
    return made(child, std::move(twin), parent);
  }
  return now(parent, {}, child, [](Comm& made, const Comm& of) { made.topology = of.topology; });
}
int Comm_idup(MPI_Comm parent, MPI_Comm* child, MPI_Request* request) {
  const std::lock_guard lock(process().mutex);
  *request = split(parent, {}, child, [](Comm& made, const Comm& of) { made.topology = of.topology; });
  return MPI_SUCCESS;
}
int Comm_dup_with_info(MPI_Comm parent, MPI_Info info, MPI_Comm* child) {
  return Comm_dup(parent, child) == MPI_SUCCESS ? Comm_set_info(*child, info) : MPI_ERR_OTHER;
}
int Comm_idup_with_info(MPI_Comm parent, MPI_Info, MPI_Comm* child, MPI_Request* request) {
  return Comm_idup(parent, child, request);
}
/// All ranks are on one node.
int Comm_split_type(MPI_Comm parent, int type, int key, MPI_Info, MPI_Comm* child) {
  return now(parent, {type == MPI_UNDEFINED ? MPI_UNDEFINED : 0, key, 0}, child);
}
int Comm_split(MPI_Comm parent, int color, int key, MPI_Comm* child) { return now(parent, {color, key, 0}, child); }
int Comm_create(MPI_Comm parent, MPI_Group group, MPI_Comm* child) {
  const auto place = [&] {
    const std::lock_guard lock(process().mutex);
    if (group == MPI_GROUP_EMPTY) return -1;
    const auto& ranks = process().groups.at(group);
    const auto at = std::find(ranks.begin(), ranks.end(), own);
    return at == ranks.end() ? -1 : static_cast<int>(at - ranks.begin());
  }();
  return now(parent, {place < 0 ? MPI_UNDEFINED : 0, place, 0}, child);
}
/// Only the group's members take part: they meet in its first member's name.
int Comm_create_group(MPI_Comm parent, MPI_Group group, int tag, MPI_Comm* child) {
  const std::lock_guard lock(process().mutex);
  const Comm& of = comm_at(parent);
  Comm comm;
  comm.ranks = process().groups.at(group);
  const auto at = std::find(comm.ranks.begin(), comm.ranks.end(), own);
  *child = MPI_COMM_NULL;
  if (at == comm.ranks.end()) return MPI_SUCCESS;
  comm.rank = static_cast<int>(at - comm.ranks.begin());
  static std::map<std::vector<int>, long> times;
  comm.context = context_of_child(of.context, -1 - ++times[comm.ranks], comm.ranks[0] * 1000 + tag);
  return made(child, std::move(comm), parent);
}
int Cart_create(MPI_Comm parent, int dimensions, const int* sizes, const int* periods, int, MPI_Comm* child) {
  Topology grid;
  grid.kind = MPI_CART;
  grid.sizes.assign(sizes, sizes + dimensions);
  grid.periods.assign(periods, periods + dimensions);
  return now(parent, {}, child, [grid](Comm& made, const Comm&) { made.topology = grid; });
}
int Dist_graph_create_adjacent(MPI_Comm parent, int in, const int* sources, const int*, int out,
                               const int* destinations, const int*, MPI_Info, int, MPI_Comm* child) {
  Topology graph;
  graph.kind = MPI_DIST_GRAPH;
  graph.sources.assign(sources, sources + in);
  graph.destinations.assign(destinations, destinations + out);
  return now(parent, {}, child, [graph](Comm& made, const Comm&) { made.topology = graph; });
}
/// The grid of those that differ in the dimensions that are kept.
int Cart_sub(MPI_Comm parent, const int* kept, MPI_Comm* child) {
  const Topology whole = comm_at(parent).topology;
  Topology part;
  part.kind = MPI_CART;
  int color = 0, key = 0, rest = comm_at(parent).rank, stride = 1;
  for (const int size : whole.sizes) stride *= size;
  for (std::size_t d = 0; d < whole.sizes.size(); ++d) {
    stride /= whole.sizes[d];
    (kept[d] ? key : color) = (kept[d] ? key : color) * whole.sizes[d] + rest / stride;
    rest %= stride;
    if (!kept[d]) continue;
    part.sizes.push_back(whole.sizes[d]);
    part.periods.push_back(whole.periods[d]);
  }
  return now(parent, {color, key, 0}, child, [part](Comm& made, const Comm&) { made.topology = part; });
}
/// The neighbors of all ranks: each rank keeps its own.
int Graph_create(MPI_Comm parent, int nodes, const int* index, const int* edges, int, MPI_Comm* child) {
  const int rank = comm_at(parent).rank;
  Topology graph;
  graph.kind = MPI_GRAPH;
  if (rank < nodes) graph.sources.assign(edges + (rank > 0 ? index[rank - 1] : 0), edges + index[rank]);
  graph.destinations = graph.sources;
  return now(parent, {rank < nodes ? 0 : MPI_UNDEFINED, 0, 0}, child,
             [graph](Comm& made, const Comm&) { made.topology = graph; });
}
int Graph_neighbors_count(MPI_Comm comm, int, int* count) {
  const std::lock_guard lock(process().mutex);
  *count = static_cast<int>(comm_at(comm).topology.sources.size());
  return MPI_SUCCESS;
}
int Graph_neighbors(MPI_Comm comm, int, int room, int* neighbors) {
  const std::lock_guard lock(process().mutex);
  std::copy_n(comm_at(comm).topology.sources.begin(), room, neighbors);
  return MPI_SUCCESS;
}
/// Any rank names edges of any: all get to know all.
int Dist_graph_create(MPI_Comm parent, int count, const int* sources, const int* degrees, const int* destinations,
                      const int*, MPI_Info info, int reorder, MPI_Comm* child) {
  const int p = static_cast<int>(comm_at(parent).ranks.size()), rank = comm_at(parent).rank;
  std::vector<int> edges(static_cast<std::size_t>(p) * p), all(edges.size());
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < degrees[i]; ++k) ++edges[sources[i] * p + *destinations++];
  Allreduce(edges.data(), all.data(), p * p, MPI_INT, MPI_SUM, parent);
  std::vector<int> in, out;
  for (int r = 0; r < p; ++r) {
    in.insert(in.end(), static_cast<std::size_t>(all[r * p + rank]), r);
    out.insert(out.end(), static_cast<std::size_t>(all[rank * p + r]), r);
  }
  return Dist_graph_create_adjacent(parent, static_cast<int>(in.size()), in.data(), nullptr,
                                    static_cast<int>(out.size()), out.data(), nullptr, info, reorder, child);
}
/// The leaders tell each other who is there, and their groups; both sides count alike how often they did.
int Intercomm_create(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm* child) {
  Comm comm = comm_at(local);
  comm.topology = {};
  comm.attributes.clear();
  comm.collectives = 0;
  std::array<int, 65> mine{}, theirs{};
  mine[0] = static_cast<int>(comm.ranks.size());
  std::copy(comm.ranks.begin(), comm.ranks.end(), mine.begin() + 1);
  if (comm.rank == leader)
    Sendrecv(mine.data(), 65, MPI_INT, remote_leader, tag, theirs.data(), 65, MPI_INT, remote_leader, tag, peers,
             MPI_STATUS_IGNORE);
  Bcast(theirs.data(), 65, MPI_INT, leader, local);
  comm.group = comm.ranks;
  comm.ranks.assign(theirs.begin() + 1, theirs.begin() + 1 + theirs[0]);
  const auto [low, high] = std::minmax(comm.group->front(), comm.ranks.front());
  comm.second = comm.group->front() == high;
  const std::lock_guard lock(process().mutex);
  static std::map<std::pair<int, int>, long> times;
  comm.context = context_of_child(-1000 - low, ++times[{low, high}], high);
  return made(child, std::move(comm), local);
}
int Intercomm_merge(MPI_Comm parent, int high, MPI_Comm* child) {
  const Comm of = comm_at(parent);
  const int p = static_cast<int>(of.ranks.size());
  int theirs = 0;
  Allreduce(&high, &theirs, 1, MPI_INT, MPI_MAX, parent);
  const bool behind = high == theirs ? of.second : high > theirs;
  std::vector<int> ranks = behind ? of.ranks : *of.group;
  const std::vector<int>& last = behind ? *of.group : of.ranks;
  const int rank = of.rank + (behind ? p : 0);
  ranks.insert(ranks.end(), last.begin(), last.end());
  const std::lock_guard lock(process().mutex);
  Comm comm;
  comm.ranks = std::move(ranks);
  comm.rank = rank;
  comm.context = context_of_child(of.context, of.collectives, 0);
  return made(child, std::move(comm), parent);
}
int Topo_test(MPI_Comm comm, int* kind) {
  const std::lock_guard lock(process().mutex);
  *kind = comm_at(comm).topology.kind;
  return MPI_SUCCESS;
}
int Cartdim_get(MPI_Comm comm, int* dimensions) {
  const std::lock_guard lock(process().mutex);
  *dimensions = static_cast<int>(comm_at(comm).topology.sizes.size());
  return MPI_SUCCESS;
}
int Cart_shift(MPI_Comm handle, int direction, int by, int* source, int* destination) {
  const std::lock_guard lock(process().mutex);
  const Comm& comm = comm_at(handle);
  const Topology& grid = comm.topology;
  int stride = 1;
  for (std::size_t d = grid.sizes.size(); d-- > static_cast<std::size_t>(direction) + 1;) stride *= grid.sizes[d];
  const int size = grid.sizes[direction], at = comm.rank / stride % size;
  const auto rank_at = [&](int place) {
    if (!grid.periods[direction] && (place < 0 || place >= size)) return MPI_PROC_NULL;
    return comm.rank + (((place % size) + size) % size - at) * stride;
  };
  *source = rank_at(at - by);
  *destination = rank_at(at + by);
  return MPI_SUCCESS;
}
int Dist_graph_neighbors_count(MPI_Comm comm, int* in, int* out, int* weighted) {
  const std::lock_guard lock(process().mutex);
  *in = static_cast<int>(comm_at(comm).topology.sources.size());
  *out = static_cast<int>(comm_at(comm).topology.destinations.size());
  *weighted = 0;
  return MPI_SUCCESS;
}
int Dist_graph_neighbors(MPI_Comm comm, int in, int* sources, int*, int out, int* destinations, int*) {
  const std::lock_guard lock(process().mutex);
  const Topology& graph = comm_at(comm).topology;
  std::copy_n(graph.sources.begin(), in, sources);
  std::copy_n(graph.destinations.begin(), out, destinations);
  return MPI_SUCCESS;
}
int Comm_free(MPI_Comm* comm) { return free_comm(comm); }
int Comm_disconnect(MPI_Comm* comm) { return free_comm(comm); }

void revoke(MPI_Comm comm) {
  const std::lock_guard lock(process().mutex);
  const std::lock_guard of_all(shared->lock);
  shared->revoked[comm_at(comm).context] = true;
}
int Comm_is_revoked(MPI_Comm comm, int* flag) {
  const std::lock_guard lock(process().mutex);
  const std::lock_guard of_all(shared->lock);
  *flag = shared->revoked.contains(comm_at(comm).context);
  return MPI_SUCCESS;
}

// Windows' memory is everybody's, at one address.
static int make_window(MPI_Comm comm, void* base, MPI_Aint bytes, int unit, MPI_Win* window) {
  struct Part {
    void* base;
    MPI_Aint bytes;
  };
  int p, rank;
  Comm_size(comm, &p);
  Comm_rank(comm, &rank);
  const Part mine{base, bytes};
  std::vector<Part> all(p);
  Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
  const std::lock_guard lock(process().mutex);
  Window made{.bases = {}, .bytes = {}, .unit = unit, .rank = rank};
  for (const Part& part : all) {
    made.bases.push_back(part.base);
    made.bytes.push_back(part.bytes);
  }
  *window = process().windows.add(std::move(made));
  return MPI_SUCCESS;
}
int Win_create(void* base, MPI_Aint bytes, int unit, MPI_Info, MPI_Comm comm, MPI_Win* window) {
  return make_window(comm, base, bytes, unit, window);
}
int Win_create_dynamic(MPI_Info, MPI_Comm comm, MPI_Win* window) { return make_window(comm, nullptr, 0, 1, window); }
int Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info, MPI_Comm comm, void* base, MPI_Win* window) {
  {
    const std::lock_guard of_all(shared->lock);
    *static_cast<void**>(base) = shared->raw.allocate(static_cast<std::size_t>(bytes) + 1, 4096);
  }
  return make_window(comm, *static_cast<void**>(base), bytes, unit, window);
}
int Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  return Win_allocate_shared(bytes, unit, info, comm, base, window);
}
int Win_create_c(void* base, MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  return Win_create(base, bytes, static_cast<int>(unit), info, comm, window);
}
int Win_allocate_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  return Win_allocate(bytes, static_cast<int>(unit), info, comm, base, window);
}
int Win_allocate_shared_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  return Win_allocate_shared(bytes, static_cast<int>(unit), info, comm, base, window);
}
int Win_shared_query(MPI_Win handle, int rank, MPI_Aint* bytes, int* unit, void* base) {
  const std::lock_guard lock(process().mutex);
  const Window& window = process().windows.at(handle);
  *bytes = window.bytes.at(static_cast<std::size_t>(rank));
  *unit = window.unit;
  *static_cast<void**>(base) = window.bases[static_cast<std::size_t>(rank)];
  return MPI_SUCCESS;
}
int Win_free(MPI_Win* window) {
  const std::lock_guard lock(process().mutex);
  process().windows.remove(*window);
  *window = MPI_WIN_NULL;
  return MPI_SUCCESS;
}

int Comm_group(MPI_Comm comm, MPI_Group* group) {
  const std::lock_guard lock(process().mutex);
  *group = process().groups.add(comm_at(comm).group.value_or(comm_at(comm).ranks));
  return MPI_SUCCESS;
}
int Comm_remote_size(MPI_Comm comm, int* size) {
  const std::lock_guard lock(process().mutex);
  *size = static_cast<int>(comm_at(comm).ranks.size());
  return MPI_SUCCESS;
}
int Comm_remote_group(MPI_Comm comm, MPI_Group* group) {
  const std::lock_guard lock(process().mutex);
  *group = process().groups.add(comm_at(comm).ranks);
  return MPI_SUCCESS;
}
int Group_size(MPI_Group group, int* size) {
  const std::lock_guard lock(process().mutex);
  *size = static_cast<int>(process().groups.at(group).size());
  return MPI_SUCCESS;
}
int Group_incl(MPI_Group group, int count, const int* which, MPI_Group* made) {
  const std::lock_guard lock(process().mutex);
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(process().groups.at(group)[which[i]]);
  *made = process().groups.add(std::move(ranks));
  return MPI_SUCCESS;
}
int Group_translate_ranks(MPI_Group from, int count, const int* ranks, MPI_Group to, int* translated) {
  const std::lock_guard lock(process().mutex);
  const auto& a = process().groups.at(from);
  const auto& b = process().groups.at(to);
  for (int i = 0; i < count; ++i) {
    const auto at = std::find(b.begin(), b.end(), a[ranks[i]]);
    translated[i] = at == b.end() ? MPI_UNDEFINED : static_cast<int>(at - b.begin());
  }
  return MPI_SUCCESS;
}
int Group_free(MPI_Group* group) {
  const std::lock_guard lock(process().mutex);
  process().groups.remove(*group);
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

int Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* handler) {
  const std::lock_guard lock(process().mutex);
  *handler = process().handlers.add(function);
  return MPI_SUCCESS;
}
int Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  const std::lock_guard lock(process().mutex);
  comm_at(comm).handler = handler;
  return MPI_SUCCESS;
}
int Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
  const std::lock_guard lock(process().mutex);
  *handler = comm_at(comm).handler;
  return MPI_SUCCESS;
}
int Errhandler_free(MPI_Errhandler* handler) {  // communicators may have it
  *handler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}
int Comm_call_errhandler(MPI_Comm comm, int code) {
  raised(comm, code);
  return MPI_SUCCESS;
}
int Comm_create_keyval(MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function* deleted, int* keyval, void* extra) {
  return create_keyval(deleted, keyval, extra);
}
int Comm_set_attr(MPI_Comm handle, int keyval, void* value) {
  const std::lock_guard lock(process().mutex);
  return set_attribute(comm_at(handle).attributes, handle, keyval, value);
}
int Comm_delete_attr(MPI_Comm handle, int keyval) {
  const std::lock_guard lock(process().mutex);
  auto& attributes = comm_at(handle).attributes;
  const auto found = attributes.find(keyval);
  if (found == attributes.end()) return raised(handle, MPI_ERR_KEYVAL);
  delete_attribute(handle, keyval, found->second);
  comm_at(handle).attributes.erase(keyval);
  return MPI_SUCCESS;
}
int Comm_get_attr(MPI_Comm handle, int keyval, void* value, int* flag) {
  const std::lock_guard lock(process().mutex);
  return get_attribute(comm_at(handle).attributes, keyval, value, flag);
}
int Comm_set_name(MPI_Comm comm, const char* name) {
  const std::lock_guard lock(process().mutex);
  comm_at(comm).name = name;
  return MPI_SUCCESS;
}
int Comm_get_name(MPI_Comm comm, char* name, int* length) {
  const std::lock_guard lock(process().mutex);
  comm_at(comm).name.copy(name, MPI_MAX_OBJECT_NAME);
  *length = static_cast<int>(comm_at(comm).name.size());
  name[*length] = 0;
  return MPI_SUCCESS;
}
int Comm_set_info(MPI_Comm comm, MPI_Info) {
  const std::lock_guard lock(process().mutex);
  comm_at(comm);
  return MPI_SUCCESS;
}
int Info_create(MPI_Info* info) {
  const std::lock_guard lock(process().mutex);
  *info = process().infos.add();
  return MPI_SUCCESS;
}
int Info_set(MPI_Info info, const char* key, const char* value) {
  const std::lock_guard lock(process().mutex);
  process().infos.at(info)[key] = value;
  return MPI_SUCCESS;
}
int Info_get(MPI_Info info, const char* key, int room, char* value, int* flag) {
  const std::lock_guard lock(process().mutex);
  const auto& all = process().infos.at(info);
  const auto found = all.find(key);
  *flag = found != all.end();
  if (*flag) std::strncpy(value, found->second.c_str(), static_cast<std::size_t>(room));
  return MPI_SUCCESS;
}
int Info_free(MPI_Info* info) {
  const std::lock_guard lock(process().mutex);
  process().infos.remove(*info);
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}
int Add_error_class(int* made) {
  *made = ++process().error_codes;
  return MPI_SUCCESS;
}
int Add_error_code(int, int* made) { return Add_error_class(made); }
int Add_error_string(int, const char* text) {
  const std::lock_guard lock(process().mutex);
  process().said = text;
  return MPI_SUCCESS;
}
int Alloc_mem(MPI_Aint bytes, MPI_Info, void* base) {
  *static_cast<void**>(base) = std::malloc(static_cast<std::size_t>(bytes));
  return MPI_SUCCESS;
}
int Free_mem(void* base) {
  std::free(base);
  return MPI_SUCCESS;
}

}  // namespace fake
