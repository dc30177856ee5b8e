// The host's own collectives: each rank brings what it has, and when all have come takes what it wants.
//
// That is no algorithm that anybody would want, but all forms of all operations follow from it, and nothing in it can be
// mistaken for what the interposer does.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "functions.hpp"
#include "inside.hpp"

namespace fake {

namespace {

using All = std::pmr::vector<Bytes>;

/// Memory of `count` elements, and where the first one begins.
struct Elements {
  Elements(long count, std::shared_ptr<Type> of) : type(std::move(of)) {
    const MPI_Aint last = std::max<long>(count - 1, 0) * type->extent();
    low = std::min<MPI_Aint>({type->true_lb(), type->true_lb() + last, 0});
    const MPI_Aint high = std::max<MPI_Aint>(type->true_ub(), type->true_ub() + last);
    memory.resize(static_cast<std::size_t>(high - low) + 1);
  }
  std::byte* first() { return memory.data() - low; }
  std::shared_ptr<Type> type;
  MPI_Aint low;
  std::vector<std::byte> memory;
};

std::byte* moved(const void* base, MPI_Aint by) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(base)) + by;
}

using Held = std::shared_ptr<Type>;

void append(Bytes& to, const void* from, long count, const Held& type) {
  const std::size_t before = to.size(), bytes = static_cast<std::size_t>(count) * type->size;
  {
    const std::lock_guard lock(shared->lock);
    to.resize(before + bytes);
  }
  pack(from, count, *type, to.data() + before);
}

/// Of all parts, one after the other, each with its length before it.
void append_part(Bytes& to, const void* from, long count, const Held& type) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * (count > 0 ? type->size : 0);
  const std::size_t before = to.size();
  {
    const std::lock_guard lock(shared->lock);
    to.resize(before + sizeof bytes);
  }
  std::memcpy(to.data() + before, &bytes, sizeof bytes);
  if (count > 0) append(to, from, count, type);
}
struct Part {
  const std::byte* data;
  std::size_t bytes;
};
Part part(const Bytes& parts, int number) {
  const std::byte* at = parts.data();
  for (;; --number) {
    std::uint64_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    at += sizeof bytes;
    if (number == 0) return {at, bytes};
    at += bytes;
  }
}

int take(Part from, void* to, long count, const Held& type) {
  if (count == 0) return from.bytes > 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  const std::size_t room = static_cast<std::size_t>(count) * type->size;
  unpack(from.data, std::min(room, from.bytes), to, count, *type);
  return from.bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}
int take(const Bytes& from, void* to, long count, const Held& type) {
  return take({from.data(), from.size()}, to, count, type);
}

/// Of ranks first to last, into `to`.
int reduce_all(const All& all, int last, void* to, long count, const Held& type, const Operator& op) {
  if (count == 0) return MPI_SUCCESS;
  Elements left(count, type), result(count, type);
  unpack(all[last].data(), all[last].size(), result.first(), count, *type);
  for (int r = last; r-- > 0;) {
    unpack(all[r].data(), all[r].size(), left.first(), count, *type);
    const int code = op.combine(left.first(), result.first(), static_cast<int>(count), *type);
    if (code != MPI_SUCCESS) return code;
  }
  std::vector<std::byte> row(static_cast<std::size_t>(count) * type->size);
  pack(result.first(), count, *type, row.data());
  unpack(row.data(), row.size(), to, count, *type);
  return MPI_SUCCESS;
}

/// What is done with one collective: checked, begun.
template <class Begin>
int begin(MPI_Comm handle, MPI_Request* request, Begin begin_one) {
  const std::lock_guard lock(process().mutex);
  *request = begin_one(comm_at(handle));
  return MPI_SUCCESS;
}
/// Likewise, unless its buffers are one: MPI says that they must not be.
template <class Begin>
int begin_apart(MPI_Comm handle, MPI_Request* request, const void* one, const void* other, long count,
                Begin begin_one) {
  if (one == other && one != MPI_IN_PLACE && count > 0) return raised(handle, MPI_ERR_BUFFER);
  return begin(handle, request, begin_one);
}
std::vector<int> sources_of(const Comm& comm, MPI_Comm handle, bool destinations) {
  if (comm.topology.kind != MPI_CART) return destinations ? comm.topology.destinations : comm.topology.sources;
  std::vector<int> all;
  for (std::size_t d = 0; d < comm.topology.sizes.size(); ++d) {
    int below, above;
    Cart_shift(handle, static_cast<int>(d), 1, &below, &above);
    all.push_back(below);
    all.push_back(above);
  }
  return all;
}

}  // namespace

Bytes no_bytes() { return Bytes(&shared->pool); }
Bytes bytes_of(const void* data, std::size_t bytes) {
  const std::lock_guard lock(shared->lock);
  const auto* const from = static_cast<const std::byte*>(data);
  return Bytes(from, from + bytes, &shared->pool);
}

MPI_Request gather(MPI_Comm handle, Bytes mine, std::function<int(const std::pmr::vector<Bytes>&)> finish) {
  Comm& comm = comm_at(handle);
  const std::pair<int, long> key{comm.context, comm.collectives++};
  const int others = static_cast<int>(comm.ranks.size()),
            own_group = comm.group ? static_cast<int>(comm.group->size()) : 0;
  const int ranks = others + own_group;
  const bool second = comm.second;
  {
    const std::lock_guard lock(shared->lock);
    Gathering& all = shared->gatherings.try_emplace(key, &shared->pool, ranks).first->second;
    all.parts[comm.rank + (second ? others : 0)] = std::move(mine);
    ++all.come;
  }
  return add_request(handle, [=](Request& request) {
    Gathering* all;
    {
      const std::lock_guard lock(shared->lock);
      all = &shared->gatherings.find(key)->second;
      if (all->come < ranks) return false;
    }
    if (own_group > 0) {  // what comes from the other group
      std::pmr::vector<Bytes> theirs;
      for (int r = 0; r < others; ++r) theirs.push_back(all->parts[r + (second ? 0 : own_group)]);
      request.status.MPI_ERROR = finish(theirs);
    } else {
      request.status.MPI_ERROR = finish(all->parts);
    }
    const std::lock_guard lock(shared->lock);
    if (++all->gone == ranks) shared->gatherings.erase(key);
    return true;
  });
}

// ---- MPI's functions ------------------------------------------------------------------------------------------------------

int Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm&) { return gather(comm, no_bytes(), [](const All&) { return MPI_SUCCESS; }); });
}
int Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    Bytes mine = no_bytes();
    const Held held = type_at(type);
    if (c.rank == root) append(mine, buffer, count, held);
    const bool receives = c.rank != root;
    return gather(comm, std::move(mine),
                  [=](const All& all) { return receives ? take(all[root], buffer, count, held) : MPI_SUCCESS; });
  });
}
static MPI_Request reduction(MPI_Comm comm, const void* send, void* recv, int count, MPI_Datatype handle, MPI_Op given,
                             bool wants, int last) {
  Bytes mine = no_bytes();
  const Held type = type_at(handle);
  const Operator op(given);
  append(mine, send == MPI_IN_PLACE ? recv : send, count, type);
  return gather(comm, std::move(mine), [=](const All& all) {
    return wants && last >= 0 ? reduce_all(all, last, recv, count, type, op) : MPI_SUCCESS;
  });
}
int Ireduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
            MPI_Request* request) {
  const bool wants = comm_at(comm).rank == root;
  return begin_apart(comm, request, send, recv, wants ? count : 0, [&](Comm& c) {
    return reduction(comm, send, recv, count, type, op, wants, static_cast<int>(c.ranks.size()) - 1);
  });
}
int Iallreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               MPI_Request* request) {
  return begin_apart(comm, request, send, recv, count, [&](Comm& c) {
    return reduction(comm, send, recv, count, type, op, true, static_cast<int>(c.ranks.size()) - 1);
  });
}
int Iscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return begin_apart(comm, request, send, recv, count,
                     [&](Comm& c) { return reduction(comm, send, recv, count, type, op, true, c.rank); });
}
int Iexscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
            MPI_Request* request) {
  return begin_apart(comm, request, send, recv, count,
                     [&](Comm& c) { return reduction(comm, send, recv, count, type, op, true, c.rank - 1); });
}
int Ireduce_scatter(const void* send, void* recv, const int* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    MPI_Request* request) {
  return begin_apart(comm, request, send, recv, counts[0], [&](Comm& c) {
    const int p = static_cast<int>(c.ranks.size());
    const int total = std::accumulate(counts, counts + p, 0), before = std::accumulate(counts, counts + c.rank, 0);
    const int own_count = counts[c.rank];
    Bytes mine = no_bytes();
    const Held of = type_at(type);
    const Operator combined(op);
    append(mine, send == MPI_IN_PLACE ? recv : send, total, of);
    return gather(comm, std::move(mine), [=](const All& all) {
      Elements result(total, of);
      const int code = reduce_all(all, p - 1, result.first(), total, of, combined);
      std::vector<std::byte> row(static_cast<std::size_t>(own_count) * of->size);
      pack(result.first() + before * of->extent(), own_count, *of, row.data());
      unpack(row.data(), row.size(), recv, own_count, *of);
      return code;
    });
  });
}
int Ireduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Request* request) {
  const std::vector<int> counts(64, count);
  return Ireduce_scatter(send, recv, counts.data(), type, op, comm, request);
}

// The parts that each brings for each, and those that it takes: displacements in bytes.
struct Side {
  const void* buffer;
  std::vector<long> counts;
  std::vector<MPI_Aint> at;
  std::vector<Held> types;
};
template <class Count, class Displacement>
static Side side(const void* buffer, int parts, Count count, Displacement at, MPI_Datatype type) {
  const Held held = parts > 0 ? type_at(type) : nullptr;
  Side made{buffer, {}, {}, std::vector<Held>(static_cast<std::size_t>(parts), held)};
  const MPI_Aint extent = held ? held->extent() : 0;
  for (int i = 0; i < parts; ++i) {
    made.counts.push_back(count(i));
    made.at.push_back(at(i) * extent);
  }
  return made;
}
static Side equal(const void* buffer, int parts, int count, MPI_Datatype type) {
  return side(buffer, parts, [=](int) { return count; }, [=](int i) { return static_cast<MPI_Aint>(i) * count; }, type);
}
static Side unequal(const void* buffer, int parts, const int* counts, const int* at, MPI_Datatype type) {
  return side(
      buffer, parts, [=](int i) { return counts[i]; }, [=](int i) { return static_cast<MPI_Aint>(at[i]); }, type);
}
template <class Displacement>
static Side typed(const void* buffer, int parts, const int* counts, const Displacement* at, const MPI_Datatype* types) {
  Side made{buffer, {}, {}, {}};
  for (int i = 0; i < parts; ++i) {
    made.counts.push_back(counts[i]);
    made.at.push_back(at[i]);
    made.types.push_back(counts[i] > 0 ? type_at(types[i]) : nullptr);
  }
  return made;
}
static Bytes brought(const Side& send) {
  Bytes mine = no_bytes();
  for (std::size_t i = 0; i < send.counts.size(); ++i)
    append_part(mine, moved(send.buffer, send.at[i]), send.counts[i], send.types[i]);
  return mine;
}
static int take_part(Part from, const Side& recv, std::size_t i) {
  return take(from, moved(recv.buffer, recv.at[i]), recv.counts[i], recv.types[i]);
}

/// All to all, of some of which there may be nothing: part i of rank r goes where `from` of the receiver says.
static MPI_Request exchange(MPI_Comm comm, Comm& c, const Side& send, Side recv) {
  const int rank = c.rank;
  return gather(comm, brought(send), [=](const All& all) {
    int code = MPI_SUCCESS;
    for (std::size_t r = 0; r < recv.counts.size(); ++r)
      if (const int one = take_part(part(all[r], rank), recv, r); one != MPI_SUCCESS) code = one;
    return code;
  });
}
/// Each brings one part, and some take all.
static MPI_Request collect(MPI_Comm comm, Bytes mine, Side recv) {
  return gather(comm, std::move(mine), [=](const All& all) {
    int code = MPI_SUCCESS;
    for (std::size_t r = 0; r < recv.counts.size(); ++r)
      if (const int one = take_part(part(all[r], 0), recv, r); one != MPI_SUCCESS) code = one;
    return code;
  });
}
static Bytes own_part(const void* send, int count, MPI_Datatype type, const Side& recv, int rank) {
  Bytes mine = no_bytes();
  if (send == MPI_IN_PLACE)
    append_part(mine, moved(recv.buffer, recv.at[rank]), recv.counts[rank], recv.types[rank]);
  else
    append_part(mine, send, count, type_at(type));
  return mine;
}
int Igather(const void* send, int count, MPI_Datatype type, void* recv, int recv_count, MPI_Datatype recv_type,
            int root, MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    const Side to = equal(recv, c.rank == root ? static_cast<int>(c.ranks.size()) : 0, recv_count, recv_type);
    return collect(comm, own_part(send, count, type, to, c.rank), to);
  });
}
int Igatherv(const void* send, int count, MPI_Datatype type, void* recv, const int* counts, const int* at,
             MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    const Side to = unequal(recv, c.rank == root ? static_cast<int>(c.ranks.size()) : 0, counts, at, recv_type);
    return collect(comm, own_part(send, count, type, to, c.rank), to);
  });
}
/// Where this rank's own part goes, of equal parts.
static const void* own_place(MPI_Comm comm, const void* recv, int count, MPI_Datatype type) {
  return moved(recv, comm_at(comm).rank * count * type_at(type)->extent());
}
int Iallgather(const void* send, int count, MPI_Datatype type, void* recv, int recv_count, MPI_Datatype recv_type,
               MPI_Comm comm, MPI_Request* request) {
  return begin_apart(comm, request, send, own_place(comm, recv, recv_count, recv_type), count, [&](Comm& c) {
    const Side to = equal(recv, static_cast<int>(c.ranks.size()), recv_count, recv_type);
    return collect(comm, own_part(send, count, type, to, c.rank), to);
  });
}
int Iallgatherv(const void* send, int count, MPI_Datatype type, void* recv, const int* counts, const int* at,
                MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    const Side to = unequal(recv, static_cast<int>(c.ranks.size()), counts, at, recv_type);
    return collect(comm, own_part(send, count, type, to, c.rank), to);
  });
}
static MPI_Request deal(MPI_Comm comm, Comm& c, const Side& send, int root, void* recv, int count, MPI_Datatype type) {
  const Held held = recv == MPI_IN_PLACE ? nullptr : type_at(type);
  const int rank = c.rank;
  return gather(comm, brought(send), [=](const All& all) {
    return recv == MPI_IN_PLACE ? MPI_SUCCESS : take(part(all[root], rank), recv, count, held);
  });
}
int Iscatter(const void* send, int count, MPI_Datatype type, void* recv, int recv_count, MPI_Datatype recv_type,
             int root, MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    const int parts = c.rank == root ? static_cast<int>(c.ranks.size()) : 0;
    return deal(comm, c, equal(send, parts, count, type), root, recv, recv_count, recv_type);
  });
}
int Iscatterv(const void* send, const int* counts, const int* at, MPI_Datatype type, void* recv, int recv_count,
              MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    const int parts = c.rank == root ? static_cast<int>(c.ranks.size()) : 0;
    return deal(comm, c, unequal(send, parts, counts, at, type), root, recv, recv_count, recv_type);
  });
}
int Ialltoall(const void* send, int count, MPI_Datatype type, void* recv, int recv_count, MPI_Datatype recv_type,
              MPI_Comm comm, MPI_Request* request) {
  return begin_apart(comm, request, send, recv, count, [&](Comm& c) {
    const int p = static_cast<int>(c.ranks.size());
    const Side to = equal(recv, p, recv_count, recv_type);
    return exchange(comm, c, send == MPI_IN_PLACE ? to : equal(send, p, count, type), to);
  });
}
int Ialltoallv(const void* send, const int* counts, const int* at, MPI_Datatype type, void* recv,
               const int* recv_counts, const int* recv_at, MPI_Datatype recv_type, MPI_Comm comm,
               MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    const int p = static_cast<int>(c.ranks.size());
    const Side to = unequal(recv, p, recv_counts, recv_at, recv_type);
    return exchange(comm, c, send == MPI_IN_PLACE ? to : unequal(send, p, counts, at, type), to);
  });
}
int Ialltoallw(const void* send, const int* counts, const int* at, const MPI_Datatype* types, void* recv,
               const int* recv_counts, const int* recv_at, const MPI_Datatype* recv_types, MPI_Comm comm,
               MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    const int p = static_cast<int>(c.ranks.size());
    const Side to = typed(recv, p, recv_counts, recv_at, recv_types);
    return exchange(comm, c, send == MPI_IN_PLACE ? to : typed(send, p, counts, at, types), to);
  });
}

/// Each brings for each of its destinations a part, and takes of each source the parts for it, in order. `broadcast`: the
/// same one for all.
static MPI_Request neighbors(Comm& c, MPI_Comm comm, const Side& send, Side recv) {
  const int rank = c.rank;
  const std::vector<int> to = sources_of(c, comm, true), from = sources_of(c, comm, false);
  Bytes mine = no_bytes();
  append_part(mine, to.data(), static_cast<long>(to.size()), type_at(MPI_INT));
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t which = send.counts.size() == 1 && to.size() > 1 ? 0 : i;
    append_part(mine, moved(send.buffer, send.at[which]), send.counts[which], send.types[which]);
  }
  const bool grid = c.topology.kind == MPI_CART;
  return gather(comm, std::move(mine), [=](const All& all) {
    int code = MPI_SUCCESS;
    std::map<int, int> seen;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] < 0) continue;
      const Part listed = part(all[from[i]], 0);
      const auto* const its = reinterpret_cast<const int*>(listed.data);
      int number = -1, skip = seen[from[i]]++;
      if (grid) {
        number = static_cast<int>(i ^ 1);  // what comes from below was sent upwards
      } else {
        for (int k = 0; k < static_cast<int>(listed.bytes / sizeof(int)); ++k)
          if (its[k] == rank && skip-- == 0) number = k;
      }
      if (const int one = take_part(part(all[from[i]], 1 + number), recv, i); one != MPI_SUCCESS) code = one;
    }
    return code;
  });
}
static int number_of(MPI_Comm handle, bool destinations) {
  return static_cast<int>(sources_of(comm_at(handle), handle, destinations).size());
}
int Ineighbor_allgather(const void* send, int count, MPI_Datatype type, void* recv, int recv_count,
                        MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    return neighbors(c, comm, equal(send, 1, count, type), equal(recv, number_of(comm, false), recv_count, recv_type));
  });
}
int Ineighbor_allgatherv(const void* send, int count, MPI_Datatype type, void* recv, const int* counts, const int* at,
                         MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    return neighbors(c, comm, equal(send, 1, count, type),
                     unequal(recv, number_of(comm, false), counts, at, recv_type));
  });
}
int Ineighbor_alltoall(const void* send, int count, MPI_Datatype type, void* recv, int recv_count,
                       MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    return neighbors(c, comm, equal(send, number_of(comm, true), count, type),
                     equal(recv, number_of(comm, false), recv_count, recv_type));
  });
}
int Ineighbor_alltoallv(const void* send, const int* counts, const int* at, MPI_Datatype type, void* recv,
                        const int* recv_counts, const int* recv_at, MPI_Datatype recv_type, MPI_Comm comm,
                        MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    return neighbors(c, comm, unequal(send, number_of(comm, true), counts, at, type),
                     unequal(recv, number_of(comm, false), recv_counts, recv_at, recv_type));
  });
}
int Ineighbor_alltoallw(const void* send, const int* counts, const MPI_Aint* at, const MPI_Datatype* types, void* recv,
                        const int* recv_counts, const MPI_Aint* recv_at, const MPI_Datatype* recv_types, MPI_Comm comm,
                        MPI_Request* request) {
  return begin(comm, request, [&](Comm& c) {
    return neighbors(c, comm, typed(send, number_of(comm, true), counts, at, types),
                     typed(recv, number_of(comm, false), recv_counts, recv_at, recv_types));
  });
}

// At each start, the nonblocking form.
static MPI_Request persistent(MPI_Comm comm, std::function<int(MPI_Request*)> begin) {
  const std::lock_guard lock(process().mutex);
  const MPI_Request made = add_request(comm, [](Request&) { return false; });
  Request& request = process().requests.at(made);
  request.active = false;
  request.start = [begin](Request& started) {
    MPI_Request inner;
    begin(&inner);
    started.poll = [inner](Request& outer) {
      Request& its = process().requests.at(inner);
      if (!its.complete && !its.poll(its)) return false;
      outer.status = its.status;
      process().requests.remove(inner);
      return true;
    };
  };
  return made;
}

// The blocking and the persistent forms of each.
#define FAKE_LIST(...) __VA_ARGS__
#define FAKE_FORMS(name, nonblocking, parameters, arguments)                                                        \
  int name(FAKE_LIST parameters MPI_Comm comm) {                                                                    \
    MPI_Request request = MPI_REQUEST_NULL;                                                                         \
    const int code = nonblocking(FAKE_LIST arguments comm, &request);                                               \
    return code == MPI_SUCCESS ? finish(request) : code;                                                            \
  }                                                                                                                 \
  int name##_init(FAKE_LIST parameters MPI_Comm comm, MPI_Info, MPI_Request* made) {                                \
    *made = persistent(comm, [=](MPI_Request* request) { return nonblocking(FAKE_LIST arguments comm, request); }); \
    return MPI_SUCCESS;                                                                                             \
  }
FAKE_FORMS(Barrier, Ibarrier, (), ())
FAKE_FORMS(Bcast, Ibcast, (void* b, int n, MPI_Datatype t, int root, ), (b, n, t, root, ))
FAKE_FORMS(Reduce, Ireduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, ),
           (s, r, n, t, op, root, ))
#define FAKE_REDUCTION(name, nonblocking) \
  FAKE_FORMS(name, nonblocking, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, ), (s, r, n, t, op, ))
FAKE_REDUCTION(Allreduce, Iallreduce)
FAKE_REDUCTION(Scan, Iscan)
FAKE_REDUCTION(Exscan, Iexscan)
FAKE_REDUCTION(Reduce_scatter_block, Ireduce_scatter_block)
FAKE_FORMS(Reduce_scatter, Ireduce_scatter, (const void* s, void* r, const int* n, MPI_Datatype t, MPI_Op op, ),
           (s, r, n, t, op, ))
#define FAKE_EXCHANGE(name, nonblocking)                                                                    \
  FAKE_FORMS(name, nonblocking, (const void* s, int n, MPI_Datatype t, void* r, int rn, MPI_Datatype rt, ), \
             (s, n, t, r, rn, rt, ))
FAKE_EXCHANGE(Allgather, Iallgather)
FAKE_EXCHANGE(Alltoall, Ialltoall)
FAKE_EXCHANGE(Neighbor_allgather, Ineighbor_allgather)
FAKE_EXCHANGE(Neighbor_alltoall, Ineighbor_alltoall)
#define FAKE_ROOTED(name, nonblocking)                                                                                \
  FAKE_FORMS(name, nonblocking, (const void* s, int n, MPI_Datatype t, void* r, int rn, MPI_Datatype rt, int root, ), \
             (s, n, t, r, rn, rt, root, ))
FAKE_ROOTED(Gather, Igather)
FAKE_ROOTED(Scatter, Iscatter)
FAKE_FORMS(Gatherv, Igatherv,
           (const void* s, int n, MPI_Datatype t, void* r, const int* rn, const int* rd, MPI_Datatype rt, int root, ),
           (s, n, t, r, rn, rd, rt, root, ))
FAKE_FORMS(Scatterv, Iscatterv,
           (const void* s, const int* n, const int* d, MPI_Datatype t, void* r, int rn, MPI_Datatype rt, int root, ),
           (s, n, d, t, r, rn, rt, root, ))
#define FAKE_ALLGATHERV(name, nonblocking)                                                                     \
  FAKE_FORMS(name, nonblocking,                                                                                \
             (const void* s, int n, MPI_Datatype t, void* r, const int* rn, const int* rd, MPI_Datatype rt, ), \
             (s, n, t, r, rn, rd, rt, ))
FAKE_ALLGATHERV(Allgatherv, Iallgatherv)
FAKE_ALLGATHERV(Neighbor_allgatherv, Ineighbor_allgatherv)
#define FAKE_ALLTOALLV(name, nonblocking)                                                                       \
  FAKE_FORMS(name, nonblocking,                                                                                 \
             (const void* s, const int* n, const int* d, MPI_Datatype t, void* r, const int* rn, const int* rd, \
              MPI_Datatype rt, ),                                                                               \
             (s, n, d, t, r, rn, rd, rt, ))
FAKE_ALLTOALLV(Alltoallv, Ialltoallv)
FAKE_ALLTOALLV(Neighbor_alltoallv, Ineighbor_alltoallv)
#define FAKE_ALLTOALLW(name, nonblocking, Displacement)                                                          \
  FAKE_FORMS(name, nonblocking,                                                                                  \
             (const void* s, const int* n, const Displacement* d, const MPI_Datatype* t, void* r, const int* rn, \
              const Displacement* rd, const MPI_Datatype* rt, ),                                                 \
             (s, n, d, t, r, rn, rd, rt, ))
FAKE_ALLTOALLW(Alltoallw, Ialltoallw, int)
FAKE_ALLTOALLW(Neighbor_alltoallw, Ineighbor_alltoallw, MPI_Aint)

}  // namespace fake
