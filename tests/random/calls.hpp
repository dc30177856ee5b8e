// Collective calls of all operations, with what every byte of their buffers has to be at the end.
#pragma once

#include "reducers.hpp"

namespace random_programs {

// Persistent collectives came with MPI 4; Open MPI 5 has them, though it says that it is MPI 3.
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define PERSISTENT_CALL(Name, ...) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
inline constexpr bool has_persistent = true;
#else
#define PERSISTENT_CALL(Name, ...) MPI_ERR_OTHER
inline constexpr bool has_persistent = false;
#endif
#if MPI_VERSION >= 4
#define LARGE_CALL(Name, name, ...)                                   \
  form == Form::blocking      ? MPI_##Name##_c(__VA_ARGS__)           \
  : form == Form::nonblocking ? MPI_I##name##_c(__VA_ARGS__, request) \
                              : MPI_##Name##_init_c(__VA_ARGS__, MPI_INFO_NULL, request)
#else
#define LARGE_CALL(Name, name, ...) MPI_ERR_OTHER
#endif
#define CALL(Name, name, ...)                                      \
  (form == Form::blocking      ? MPI_##Name(__VA_ARGS__)           \
   : form == Form::nonblocking ? MPI_I##name(__VA_ARGS__, request) \
                               : PERSISTENT_CALL(Name, __VA_ARGS__))
/// By the functions for large counts where there are any and the call is to use them.
#define EITHER_CALL(Name, name, ...) (large ? LARGE_CALL(Name, name, __VA_ARGS__) : CALL(Name, name, __VA_ARGS__))

enum class Form { blocking, nonblocking, persistent };
inline const char* text(Form form) {
  return form == Form::blocking ? "blocking" : form == Form::nonblocking ? "nonblocking" : "persistent";
}

/// What this rank knows of a communicator.
struct Communicator {
  enum class Kind { plain, neighbors, between } kind = Kind::plain;
  MPI_Comm handle = MPI_COMM_NULL;
  int rank = 0, size = 0, remote = 0;  ///< remote: ranks of the other group
  bool of_session = false;             ///< of the program's own session, while others are of the world or of another
  std::vector<int> sources, destinations;  ///< of neighbors: a number of each edge, alike at both ends
  std::string name;
};

/// One call, which may be made again with other contents.
class Call {
 public:
  std::string text;
  std::function<void(std::uint64_t key)> fill;
  std::function<int(Form, MPI_Request*)> go;

  void check() const {
    if (send) send->buffer->check((text + ", send buffer").c_str());
    if (recv) recv->buffer->check((text + ", receive buffer").c_str());
  }
  /// Datatypes and the operation: programs may free them while the call is under way.
  void release() {
    if (send) send->release();
    if (recv) recv->release();
    if (own_op) must(MPI_Op_free(&op), "MPI_Op_free");
    own_op = false;
  }
  ~Call() { release(); }

  std::unique_ptr<Side> send, recv;
  MPI_Op op = MPI_OP_NULL;
  bool own_op = false;
};

namespace detail {

/// Whose part for whom; first < 0: nobody's.
using Content = std::pair<int, int>;
using Contents = std::vector<Content>;

inline void put_parts(Side& side, const Contents& contents, std::uint64_t key) {
  for (std::size_t i = 0; i < contents.size(); ++i)
    if (contents[i].first >= 0)
      put_part(side.buffer->wanted(side.parts[i].at), side.parts[i], key, contents[i].first, contents[i].second);
}

/// before: what the receive buffer holds before the call, where it is in place.
inline void set_contents(Call& call, Contents sent, Contents received, Contents before) {
  call.fill = [&call, sent, received, before](std::uint64_t key) {
    if (call.send) {
      call.send->buffer->clear(mix(key));
      put_parts(*call.send, sent, key);
      call.send->buffer->store();
    }
    if (call.recv) {
      call.recv->buffer->clear(mix(key + 1));
      put_parts(*call.recv, before, key);
      call.recv->buffer->store();
      put_parts(*call.recv, received, key);
    }
  };
}

struct Shape {
  std::uint64_t seed;
  int most;  ///< bytes of a part

  /// Items of a part: a multiple of g.
  int items(int g, int extent, int i = 0, int j = 0) const {
    Draw draw(hash({seed, 5, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)}));
    const int room = std::max(1, most / extent / g), kind = draw.below(16);
    return g * draw.below(std::min(room, kind < 2 ? 1 : kind < 8 ? 7 : kind < 14 ? 300 : room) + (kind < 2 ? 0 : 1));
  }
};

inline Contents from_all(int p, int to) {
  Contents c;
  for (int i = 0; i < p; ++i) c.push_back({i, to});
  return c;
}
inline Contents to_all(int from, int p) {
  Contents c;
  for (int i = 0; i < p; ++i) c.push_back({from, i});
  return c;
}

}  // namespace detail

/// A call that moves parts. `shape` is alike for all ranks; `draw` as well, but not what is drawn for `mine`.
inline std::unique_ptr<Call> moving(const Communicator& comm, const detail::Shape& shape, Draw draw, bool large) {
  using namespace detail;
  Draw drawn(shape.seed);
  const int p = comm.size, me = comm.rank, g = std::array{1, 1, 2, 6}[drawn.below(4)];
  const Base& base = base_of(drawn.below(10));
  const bool neighbors = comm.kind == Communicator::Kind::neighbors;
  // Neighborhoods have five operations, all others ten.
  int operation = neighbors && drawn.one_in(2) ? 10 + drawn.below(5) : drawn.below(10);
#ifdef OPEN_MPI
  // Left out: MPI_Alltoallw of one rank, which Open MPI 5 does wrongly, also without omnes (seed 1700 of 2 ranks).
  if (p == 1 && operation == 9) operation = 8;
#endif
  const bool in_place = drawn.one_in(4) && operation < 10;
  const int root = drawn.below(p);
  Draw mine(hash({draw.next(), static_cast<std::uint64_t>(me)}));
  const std::uint64_t a = mine.next(), b = mine.next();
  const auto n = shape.items(g, base.extent);
  const auto n_of = [&](int i, int j = 0) {
    return in_place && i > j && operation >= 6 ? shape.items(g, base.extent, j, i) : shape.items(g, base.extent, i, j);
  };
  std::vector<int> all(p), outgoing(p), incoming(p);
  for (int i = 0; i < p; ++i) all[i] = n_of(i), outgoing[i] = n_of(me, i), incoming[i] = n_of(i, me);
  auto made = std::make_unique<Call>();
  Call& call = *made;
  const MPI_Comm c = comm.handle;
  const auto one = [&](std::uint64_t d, int items) { return regular(Draw(d), base, g, 1, items); };
  const auto many = [&](std::uint64_t d) { return regular(Draw(d), base, g, p, n); };
  std::string name;
  Contents sent, received, before;

#define SEND (call.send ? call.send->address() : in_place ? MPI_IN_PLACE : nullptr)
#define SEND_ARGUMENTS SEND, call.send ? call.send->count() : 0, call.send ? call.send->type() : MPI_INT
#define RECV_ARGUMENTS                                                            \
  call.recv ? call.recv->address() : nullptr, call.recv ? call.recv->count() : 0, \
      call.recv ? call.recv->type() : MPI_INT
#define SEND_V \
  SEND, call.send ? call.send->counts.data() : nullptr, call.send ? call.send->displacements.data() : nullptr
#define RECV_V                                                                                \
  call.recv ? call.recv->address() : nullptr, call.recv ? call.recv->counts.data() : nullptr, \
      call.recv ? call.recv->displacements.data() : nullptr
  switch (operation) {
    case 0:
      name = "Bcast from " + std::to_string(root);
      call.recv = one(a, n);
      if (me == root) before = {{root, 0}};
      received = {{root, 0}};
      call.go = [&call, root, c, large](Form form, MPI_Request* request) {
        return EITHER_CALL(Bcast, bcast, call.recv->address(), call.recv->count(), call.recv->type(), root, c);
      };
      break;
    case 1:
    case 2: {
      const bool v = operation == 2;
      name = std::string(v ? "Gatherv to " : "Gather to ") + std::to_string(root);
      const bool here = me == root && in_place;
      if (!here) call.send = one(a, v ? all[me] : n), sent = {{me, 0}};
      if (me == root) {
        call.recv = v ? unequal(Draw(b), base, g, all) : many(b);
        received = from_all(p, 0);
        before = here ? Contents(p, {-1, 0}) : Contents();
        if (here) before[me] = {me, 0};
      }
      if (v)
        call.go = [&call, root, c, in_place](Form form, MPI_Request* request) {
          return CALL(Gatherv, gatherv, SEND_ARGUMENTS, RECV_V, call.recv ? call.recv->type() : MPI_INT, root, c);
        };
      else
        call.go = [&call, root, c, large, in_place](Form form, MPI_Request* request) {
          return EITHER_CALL(Gather, gather, SEND_ARGUMENTS, RECV_ARGUMENTS, root, c);
        };
      break;
    }
    case 3:
    case 4: {
      const bool v = operation == 4;
      name = std::string(v ? "Scatterv from " : "Scatter from ") + std::to_string(root);
      if (me == root) call.send = v ? unequal(Draw(a), base, g, all) : many(a), sent = to_all(me, p);
      const bool here = me == root && in_place;
      if (!here) call.recv = one(b, v ? all[me] : n), received = {{root, me}};
      if (v)
        call.go = [&call, root, c, here](Form form, MPI_Request* request) {
          constexpr bool in_place = false;
          return CALL(Scatterv, scatterv, SEND_V, call.send ? call.send->type() : MPI_INT,
                      here ? MPI_IN_PLACE : call.recv->address(), here ? 0 : call.recv->count(),
                      here ? MPI_INT : call.recv->type(), root, c);
        };
      else
        call.go = [&call, root, c, large, here](Form form, MPI_Request* request) {
          constexpr bool in_place = false;
          return EITHER_CALL(Scatter, scatter, SEND_ARGUMENTS, here ? MPI_IN_PLACE : call.recv->address(),
                             here ? 0 : call.recv->count(), here ? MPI_INT : call.recv->type(), root, c);
        };
      break;
    }
    case 5:
    case 6: {
      const bool v = operation == 6;
      name = v ? "Allgatherv" : "Allgather";
      for (int i = 0; i < p; ++i) all[i] = shape.items(g, base.extent, i);
      if (!in_place) call.send = one(a, v ? all[me] : n), sent = {{me, 0}};
      call.recv = v ? unequal(Draw(b), base, g, all) : many(b);
      received = from_all(p, 0);
      if (in_place) before = Contents(p, {-1, 0}), before[me] = {me, 0};
      if (v)
        call.go = [&call, c, in_place](Form form, MPI_Request* request) {
          return CALL(Allgatherv, allgatherv, SEND_ARGUMENTS, RECV_V, call.recv->type(), c);
        };
      else
        call.go = [&call, c, large, in_place](Form form, MPI_Request* request) {
          return EITHER_CALL(Allgather, allgather, SEND_ARGUMENTS, RECV_ARGUMENTS, c);
        };
      break;
    }
    case 7:
    case 8:
    case 9: {
      name = std::array{"Alltoall", "Alltoallv", "Alltoallw"}[operation - 7];
      const auto side = [&](std::uint64_t d, const std::vector<int>& items) {
        return operation == 7   ? many(d)
               : operation == 8 ? unequal(Draw(d), base, g, items)
                                : of_all_types(Draw(d), base, g, items);
      };
      if (!in_place) call.send = side(a, outgoing), sent = to_all(me, p);
      call.recv = side(b, incoming);
      received = from_all(p, me);
      if (in_place) before = to_all(me, p);
      if (operation == 7)
        call.go = [&call, c, large, in_place](Form form, MPI_Request* request) {
          return EITHER_CALL(Alltoall, alltoall, SEND_ARGUMENTS, RECV_ARGUMENTS, c);
        };
      else if (operation == 8)
        call.go = [&call, c, in_place](Form form, MPI_Request* request) {
          return CALL(Alltoallv, alltoallv, SEND_V, call.send ? call.send->type() : MPI_INT, RECV_V, call.recv->type(),
                      c);
        };
      else
        call.go = [&call, c, in_place](Form form, MPI_Request* request) {
          return CALL(Alltoallw, alltoallw, SEND_V, call.send ? call.send->types.data() : nullptr, RECV_V,
                      call.recv->types.data(), c);
        };
      break;
    }
    default: {
      const int kind = operation - 10;  // allgather, allgatherv, alltoall, alltoallv, alltoallw
      name = std::array{"Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv",
                        "Neighbor_alltoallw"}[kind];
      const int in = static_cast<int>(comm.sources.size()), out = static_cast<int>(comm.destinations.size());
      std::vector<int> from(in), to(out);
      // An edge's number begins with its source.
      for (int i = 0; i < in; ++i) from[i] = kind == 1 ? n_of(comm.sources[i] / 1000) : n_of(comm.sources[i], 1);
      for (int i = 0; i < out; ++i) to[i] = n_of(comm.destinations[i], 1);
      const auto side = [&](std::uint64_t d, const std::vector<int>& items) {
        const int parts = static_cast<int>(items.size());
        return kind == 0 || kind == 2 ? regular(Draw(d), base, g, parts, n)
               : kind == 4            ? of_all_types(Draw(d), base, g, items)
                                      : unequal(Draw(d), base, g, items);
      };
      if (kind < 2)
        call.send = one(a, kind == 1 ? n_of(me) : n), sent = {{me, 0}};
      else
        call.send = side(a, to);
      call.recv = side(b, from);
      for (int i = 0; i < in; ++i)
        received.push_back(comm.sources[i] < 0 ? Content{-1, 0}
                           : kind < 2          ? Content{comm.sources[i] / 1000, 0}
                                               : Content{comm.sources[i], 1});
      if (kind >= 2)
        for (int i = 0; i < out; ++i) sent.push_back({comm.destinations[i], 1});
      call.go = [&call, c, kind, large, in_place](Form form, MPI_Request* request) {
        switch (kind) {
          case 0: return EITHER_CALL(Neighbor_allgather, neighbor_allgather, SEND_ARGUMENTS, RECV_ARGUMENTS, c);
          case 1: return CALL(Neighbor_allgatherv, neighbor_allgatherv, SEND_ARGUMENTS, RECV_V, call.recv->type(), c);
          case 2: return EITHER_CALL(Neighbor_alltoall, neighbor_alltoall, SEND_ARGUMENTS, RECV_ARGUMENTS, c);
          case 3:
            return CALL(Neighbor_alltoallv, neighbor_alltoallv, SEND_V, call.send->type(), RECV_V, call.recv->type(),
                        c);
          default:
            return CALL(Neighbor_alltoallw, neighbor_alltoallw, SEND, call.send->counts.data(), call.send->far.data(),
                        call.send->types.data(), call.recv->address(), call.recv->counts.data(), call.recv->far.data(),
                        call.recv->types.data(), c);
        }
      };
    }
  }
  set_contents(call, sent, received, before);
  call.text = name + (in_place ? " in place" : "") + (large ? " (large)" : "") +
              (call.send ? ", sends " + call.send->text() : "") + (call.recv ? ", receives " + call.recv->text() : "");
  return made;
}

/// A call that combines.
inline std::unique_ptr<Call> reducing(const Communicator& comm, const detail::Shape& shape, Draw draw, bool large) {
  Draw drawn(shape.seed);
  const int p = comm.size, me = comm.rank;
  const Reducer& reducer = reducers()[drawn.below(static_cast<int>(reducers().size()))];
  const int operation = drawn.below(6);
  const bool in_place = drawn.one_in(4), scatters = operation >= 4;
  const int root = drawn.below(p);
  auto made = std::make_unique<Call>();
  Call& call = *made;
  const MPI_Comm c = comm.handle;
  const Reducible type = reducible(reducer);
  const int extent = static_cast<int>(type.layout->extent);
  std::vector<int> counts(p);
  for (int i = 0; i < p; ++i) counts[i] = shape.items(1, extent, operation == 5 ? i : 0);
  int all = 0, first = 0;
  for (int i = 0; i < p; ++i) all += counts[i], first += i < me ? counts[i] : 0;
  const int n = scatters ? all : counts[0];
  call.op = reducer.op;
  if (reducer.function) {
    call.own_op = true;
    must(MPI_Op_create(reducer.function, reducer.commutes, &call.op), "MPI_Op_create");
  }
  Draw mine(hash({draw.next(), static_cast<std::uint64_t>(me)}));
  const auto side = [&](int items) {
    auto made_side = std::make_unique<Side>();
    made_side->parts = {{type.layout, items, 0}};
    made_side->lie(Draw(mine.next()));
    return made_side;
  };
  const bool here = in_place && (operation != 0 || me == root), gets = operation != 0 || me == root;
  if (!here) call.send = side(n);
  if (gets) call.recv = side(here ? n : scatters ? counts[me] : n);
  // MPIs copy pairs as a whole, with the gap between value and index or behind them.
  if (reducer.base && call.recv) {
    const std::vector<Field>& fields = reducer.base->fields;
    const auto count = call.recv->parts[0].items;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const int end = fields[f].at + fields[f].bytes, next = f + 1 < fields.size() ? fields[f + 1].at : extent;
      for (int i = 0; next > end && i < count; ++i) call.recv->buffer->leave_open(i * extent + end, next - end);
    }
  }
  // Elements that arrive, from which on, and whose are combined.
  const int arrive = !gets ? 0 : scatters ? counts[me] : operation == 3 && me == 0 ? 0 : n;
  const int from = scatters ? first : 0, last = operation == 2 ? me : operation == 3 ? me - 1 : p - 1;
  call.fill = [&call, &reducer, n, arrive, from, last, me, here](std::uint64_t key) {
    const Layout& layout = *(call.send ? call.send : call.recv)->parts[0].layout;
    const auto contribute = [&](Buffer& buffer) {
      for (int i = 0; i < n; ++i) put_element(buffer.wanted(i * layout.extent), layout, value_of(reducer, key, me, i));
      buffer.store();
    };
    if (call.send) {
      call.send->buffer->clear(mix(key));
      contribute(*call.send->buffer);
    }
    if (!call.recv) return;
    call.recv->buffer->clear(mix(key + 1));
    if (here) contribute(*call.recv->buffer);
    call.recv->buffer->store();
    for (int i = 0; i < arrive; ++i)
      put_element(call.recv->buffer->wanted(i * layout.extent), layout, combined(reducer, key, 0, last, from + i));
  };
  const MPI_Datatype t = type.layout->type;
  auto counts_kept = std::make_shared<std::vector<int>>(counts);
  const int block = counts[0];
#define BUFFERS here ? MPI_IN_PLACE : call.send->address(), call.recv ? call.recv->address() : nullptr
  switch (operation) {
    case 0:
      call.go = [&call, n, t, root, c, here, large](Form form, MPI_Request* request) {
        return EITHER_CALL(Reduce, reduce, BUFFERS, n, t, call.op, root, c);
      };
      break;
    case 1:
      call.go = [&call, n, t, c, here, large](Form form, MPI_Request* request) {
        return EITHER_CALL(Allreduce, allreduce, BUFFERS, n, t, call.op, c);
      };
      break;
    case 2:
      call.go = [&call, n, t, c, here, large](Form form, MPI_Request* request) {
        return EITHER_CALL(Scan, scan, BUFFERS, n, t, call.op, c);
      };
      break;
    case 3:
      call.go = [&call, n, t, c, here, large](Form form, MPI_Request* request) {
        return EITHER_CALL(Exscan, exscan, BUFFERS, n, t, call.op, c);
      };
      break;
    case 4:
      call.go = [&call, block, t, c, here, large](Form form, MPI_Request* request) {
        return EITHER_CALL(Reduce_scatter_block, reduce_scatter_block, BUFFERS, block, t, call.op, c);
      };
      break;
    default:
      call.go = [&call, counts_kept, t, c, here](Form form, MPI_Request* request) {
        return CALL(Reduce_scatter, reduce_scatter, BUFFERS, counts_kept->data(), t, call.op, c);
      };
  }
  call.text =
      std::array{
          "Reduce to " + std::to_string(root), std::string("Allreduce"),     std::string("Scan"), std::string("Exscan"),
          std::string("Reduce_scatter_block"), std::string("Reduce_scatter")}[operation] +
      (in_place ? " in place" : "") + (large ? " (large)" : "") + " by " + reducer.name + ", " + std::to_string(n) +
      " " + type.layout->name;
  return made;
}

inline std::unique_ptr<Call> barrier(const Communicator& comm) {
  auto made = std::make_unique<Call>();
  made->text = "Barrier";
  made->fill = [](std::uint64_t) {};
  made->go = [c = comm.handle](Form form, MPI_Request* request) { return CALL(Barrier, barrier, c); };
  return made;
}

}  // namespace random_programs
