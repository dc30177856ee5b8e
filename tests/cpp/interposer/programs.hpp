// What ranks do in these tests: all operations in all forms, compared with what the host makes of them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "functions.hpp"
#include "inside.hpp"
#include "job.hpp"

namespace programs {

constexpr int most_ranks = 4, most = 3000;  // elements of a part

/// The arguments of a call, whichever it is.
struct Arguments {
  MPI_Comm comm;
  int p, rank;
  int count;  ///< elements of a part
  MPI_Datatype type;
  std::size_t extent;
  MPI_Op op = MPI_SUM;
  int root = 0;
  int counts[most_ranks], at[most_ranks], bytes_at[most_ranks];
  MPI_Aint far_at[most_ranks];
  MPI_Datatype types[most_ranks];
  std::vector<std::byte> send, recv;
  std::vector<std::byte> filling;  ///< of `send`: small integers, so that nothing overflows
  bool in_place = false;           ///< what is sent lies in `recv`

  // The same for functions with large counts.
  MPI_Count large_counts[most_ranks];
  MPI_Aint large_at[most_ranks];

  Arguments(MPI_Comm of, int elements, MPI_Datatype datatype, std::size_t bytes)
      : comm(of), count(elements), type(datatype), extent(bytes) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    for (int r = 0; r < p; ++r) {
      counts[r] = count;
      at[r] = r * count;
      bytes_at[r] = static_cast<int>(r * count * extent);
      far_at[r] = bytes_at[r];
      types[r] = type;
    }
    recv.resize(p * count * extent + 1);
    filling.resize(recv.size());
    for (std::size_t i = 0; i < filling.size(); i += 4) filling[i] = std::byte((i / 4 + 5 * rank) % 11);
    for (std::size_t i = 1; i < filling.size(); i += 4) filling[i] = std::byte((i / 4 + 3 * rank) % 3);
    fill();
  }
  void fill() {
    send = filling;
    empty();
  }
  /// As before the call.
  void empty() {
    if (in_place)
      recv = send;
    else
      std::fill(recv.begin(), recv.end(), std::byte{0});
  }
};

// clang-format off
/// X(blocking, nonblocking, persistent, arguments before the communicator), in terms of `a`.
#define PROGRAMS_OPERATIONS(X) \
  X(Barrier, Ibarrier, Barrier_init) \
  PROGRAMS_WITH_COUNTS(X)
#define PROGRAMS_WITH_COUNTS(X) \
  X(Bcast, Ibcast, Bcast_init, (a.rank == a.root ? a.send : a.recv).data(), a.count, a.type, a.root,) \
  X(Reduce, Ireduce, Reduce_init, a.send.data(), a.recv.data(), a.count, a.type, a.op, a.root,) \
  X(Allreduce, Iallreduce, Allreduce_init, a.send.data(), a.recv.data(), a.count, a.type, a.op,) \
  X(Scan, Iscan, Scan_init, a.send.data(), a.recv.data(), a.count, a.type, a.op,) \
  X(Exscan, Iexscan, Exscan_init, a.send.data(), a.recv.data(), a.count, a.type, a.op,) \
  X(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, a.send.data(), a.recv.data(), a.count, a.type, a.op,) \
  X(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, a.send.data(), a.recv.data(), a.counts, a.type, a.op,) \
  X(Gather, Igather, Gather_init, a.send.data(), a.count, a.type, a.recv.data(), a.count, a.type, a.root,) \
  X(Scatter, Iscatter, Scatter_init, a.send.data(), a.count, a.type, a.recv.data(), a.count, a.type, a.root,) \
  X(Allgather, Iallgather, Allgather_init, a.send.data(), a.count, a.type, a.recv.data(), a.count, a.type,) \
  X(Alltoall, Ialltoall, Alltoall_init, a.send.data(), a.count, a.type, a.recv.data(), a.count, a.type,) \
  X(Gatherv, Igatherv, Gatherv_init, a.send.data(), a.count, a.type, a.recv.data(), a.counts, a.at, a.type, a.root,) \
  X(Scatterv, Iscatterv, Scatterv_init, a.send.data(), a.counts, a.at, a.type, a.recv.data(), a.count, a.type, a.root,) \
  X(Allgatherv, Iallgatherv, Allgatherv_init, a.send.data(), a.count, a.type, a.recv.data(), a.counts, a.at, a.type,) \
  X(Alltoallv, Ialltoallv, Alltoallv_init, a.send.data(), a.counts, a.at, a.type, a.recv.data(), a.counts, a.at, a.type,) \
  X(Alltoallw, Ialltoallw, Alltoallw_init, a.send.data(), a.counts, a.bytes_at, a.types, a.recv.data(), a.counts, a.bytes_at, a.types,)
/// On a communicator with neighbors.
#define PROGRAMS_NEIGHBORS(X) \
  X(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, a.send.data(), a.count, a.type, a.recv.data(), a.count, a.type,) \
  X(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, a.send.data(), a.count, a.type, a.recv.data(), a.counts, a.at, a.type,) \
  X(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, a.send.data(), a.count, a.type, a.recv.data(), a.count, a.type,) \
  X(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, a.send.data(), a.counts, a.at, a.type, a.recv.data(), a.counts, a.at, a.type,) \
  X(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, a.send.data(), a.counts, a.far_at, a.types, a.recv.data(), a.counts, a.far_at, a.types,)
// clang-format on

struct Operation {
  const char* name;
  int (*blocking)(Arguments&);
  int (*by_host)(Arguments&);
  int (*nonblocking)(Arguments&, MPI_Request*);
  int (*persistent)(Arguments&, MPI_Request*);
};
#define PROGRAMS_OPERATION(name, immediate, initial, ...)                                           \
  {#name, [](Arguments& a) { return MPI_##name(__VA_ARGS__ a.comm); },                              \
   [](Arguments& a) { return fake::name(__VA_ARGS__ a.comm); },                                     \
   [](Arguments& a, MPI_Request* request) { return MPI_##immediate(__VA_ARGS__ a.comm, request); }, \
   [](Arguments& a, MPI_Request* request) { return MPI_##initial(__VA_ARGS__ a.comm, MPI_INFO_NULL, request); }},
inline const Operation operations[] = {PROGRAMS_OPERATIONS(PROGRAMS_OPERATION)};
inline const Operation of_neighbors[] = {PROGRAMS_NEIGHBORS(PROGRAMS_OPERATION)};
#undef PROGRAMS_OPERATION

/// A call of the interposer by an expression.
#define CALL(expression)                     \
  do {                                       \
    int code;                                \
    {                                        \
      const fake::InMpi inside(#expression); \
      code = expression;                     \
    }                                        \
    fake::expect(code, #expression);         \
  } while (false)

/// Whether it returns no error.
#define WENT_WELL(expression)                  \
  [&] {                                        \
    int code;                                  \
    {                                          \
      const fake::InMpi inside(#expression);   \
      code = expression;                       \
    }                                          \
    return fake::went_well(code, #expression); \
  }()

/// Whether it does so the first or the second time.
#define AT_LAST(expression) (WENT_WELL(expression) || WENT_WELL(expression))

/// The first byte in which two as long differ; none: their size.
inline std::size_t first_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return a.size();
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

inline void compare(const Operation& operation, Arguments& a, const char* form) {
  const std::vector<std::byte> found = a.recv;
  if (const std::size_t i = first_difference(a.send, a.filling); i < a.send.size())
    fake::fail("%s, %s, writes byte %zu of what it sends", operation.name, form, i);
  a.empty();
  operation.by_host(a);
  if (const std::size_t i = first_difference(found, a.recv); i < found.size()) {
    fake::fail("%s, %s, count %d, type %x, op %x, root %d: byte %zu is %d, not %d", operation.name, form, a.count,
               a.type, a.op, a.root, i, static_cast<int>(found[i]), static_cast<int>(a.recv[i]));
  }
}

inline void blocking(const Operation& operation, Arguments& a) {
  a.fill();
  CALL(operation.blocking(a));
  compare(operation, a, "blocking");
}

inline void nonblocking(const Operation& operation, Arguments& a) {
  a.fill();
  MPI_Request request;
  CALL(operation.nonblocking(a, &request));
  MPI(Wait(&request, MPI_STATUS_IGNORE));
  if (request != MPI_REQUEST_NULL) fake::fail("%s: the request is still there", operation.name);
  compare(operation, a, "nonblocking");
}

inline void persistent(const Operation& operation, Arguments& a, int times) {
  MPI_Request request;
  CALL(operation.persistent(a, &request));
  for (int i = 0; i < times; ++i) {
    a.fill();
    MPI(Start(&request));
    MPI(Wait(&request, MPI_STATUS_IGNORE));
    compare(operation, a, "persistent");
  }
  MPI(Request_free(&request));
}

/// An operation of the program that does not commute: a number stands for a map x -> a x + b modulo 31.
inline void compose(void* in, void* inout, int* count, MPI_Datatype*) {
  constexpr int modulus = 31;
  for (int i = 0; i < *count; ++i) {
    const int left = static_cast<const int*>(in)[i], right = static_cast<int*>(inout)[i];
    const int a = left % modulus, b = left / modulus;
    static_cast<int*>(inout)[i] = a * (right % modulus) % modulus + (a * (right / modulus) + b) % modulus * modulus;
  }
}

/// Errors come back, and have been seen by a handler.
inline void begin(int level = MPI_THREAD_SINGLE) {
  int provided;
  MPI(Init_thread(nullptr, nullptr, level, &provided));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}
inline void end() { MPI(Finalize()); }

inline void all_blocking() {
  begin();
  for (const int count : {0, 1, 100, most}) {
    Arguments a(MPI_COMM_WORLD, count, MPI_INT, sizeof(int));
    for (const Operation& operation : operations) {
      blocking(operation, a);
      blocking(operation, a);
    }
  }
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  MPI_Datatype pair;
  MPI(Type_vector(2, 1, 2, MPI_INT, &pair));
  MPI(Type_commit(&pair));
  MPI_Comm twin, half, grid;
  MPI(Comm_dup(MPI_COMM_WORLD, &twin));
  {
    Arguments a(twin, 10, MPI_INT, sizeof(int));
    a.op = op;
    a.root = a.p - 1;
    for (const Operation& operation : operations) blocking(operation, a);
    Arguments gaps(twin, 7, pair, 3 * sizeof(int));
    gaps.op = op;
    for (const Operation& operation : operations)
      if (!std::strstr(operation.name, "educe") && !std::strstr(operation.name, "can")) blocking(operation, gaps);
    MPI(Comm_split(twin, a.rank % 2, -a.rank, &half));
    const int around = 1;
    MPI(Cart_create(twin, 1, &a.p, &around, 0, &grid));
  }
  {
    Arguments a(half, 5, MPI_INT, sizeof(int));
    for (const Operation& operation : operations) blocking(operation, a);
    Arguments near(grid, 5, MPI_INT, sizeof(int));
    near.recv.resize(near.recv.size() + 10 * sizeof(int));
    for (int i = 0; i < most_ranks; ++i)
      near.counts[i] = 5, near.at[i] = 5 * i, near.far_at[i] = 20 * i, near.types[i] = MPI_INT;
    near.send.resize(near.recv.size());
    for (const Operation& operation : of_neighbors) blocking(operation, near);
  }
  MPI(Comm_free(&grid));
  MPI(Comm_free(&half));
  MPI(Comm_free(&twin));
  MPI(Type_free(&pair));
  MPI(Op_free(&op));
  end();
}

/// All forms with requests; several under way; objects freed meanwhile.
inline void all_requested() {
  begin();
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  MPI_Comm twin;
  MPI(Comm_dup(MPI_COMM_WORLD, &twin));
  for (const int count : {0, 1, most}) {
    Arguments a(twin, count, MPI_INT, sizeof(int));
    for (const Operation& operation : operations) {
      nonblocking(operation, a);
      persistent(operation, a, 2);
    }
  }
  {
    Arguments a(twin, 40, MPI_INT, sizeof(int)), b(twin, 40, MPI_INT, sizeof(int)),
        c(MPI_COMM_WORLD, most, MPI_INT, sizeof(int));
    a.op = op;
    MPI_Request requests[3];
    CALL(operations[3].nonblocking(a, &requests[0]));
    CALL(operations[11].nonblocking(b, &requests[1]));
    CALL(operations[3].nonblocking(c, &requests[2]));
    MPI(Op_free(&op));
    MPI_Comm_rank(twin, &a.rank);
    int token = -1;
    const int right = (a.rank + 1) % a.p, left = (a.rank + a.p - 1) % a.p;
    MPI(Sendrecv(&a.rank, 1, MPI_INT, right, 3, &token, 1, MPI_INT, left, 3, twin, MPI_STATUS_IGNORE));
    if (token != left) fake::fail("a message of rank %d says %d", left, token);
    MPI(Comm_free(&twin));
    MPI_Status statuses[3];
    MPI(Waitall(3, requests, statuses));
    c.fill();
    nonblocking(operations[3], c);
  }
  end();
}

/// Communicators, attributes, memory: what is made and freed.
inline int attributes_deleted;
inline int deleted(MPI_Comm, int, void*, void*) { return ++attributes_deleted, MPI_SUCCESS; }

inline void all_objects() {
  begin();
  int keyval;
  MPI_Comm_create_keyval(nullptr, deleted, &keyval, nullptr);
  for (int round = 0; round < 3; ++round) {
    MPI_Comm twin, group_comm, own;
    MPI(Comm_dup(MPI_COMM_WORLD, &twin));
    MPI_Comm_set_attr(twin, keyval, &keyval);
    MPI_Group group;
    MPI_Comm_group(twin, &group);
    MPI(Comm_create(twin, group, &group_comm));
    MPI_Group_free(&group);
    Arguments a(group_comm, 3, MPI_INT, sizeof(int));
    blocking(operations[3], a);
    nonblocking(operations[3], a);
    MPI(Comm_split(group_comm, a.rank, 0, &own));
    Arguments alone(own, 3, MPI_INT, sizeof(int));
    blocking(operations[3], alone);
    nonblocking(operations[3], alone);
    MPI_Datatype row, column, sparse;
    MPI(Type_contiguous(4, MPI_INT, &row));
    MPI(Type_create_resized(row, 0, 5 * sizeof(int), &column));
    const int lengths[] = {1, 2}, at[] = {0, 3};
    MPI_Type_indexed(2, lengths, at, MPI_INT, &sparse);
    MPI(Type_commit(&column));
    MPI(Type_commit(&sparse));
    Arguments rows(twin, 6, column, 5 * sizeof(int)), sparsely(twin, 6, sparse, 5 * sizeof(int));
    for (const int number : {1, 8, 11}) {
      blocking(operations[number], rows);
      nonblocking(operations[number], sparsely);
    }
    MPI_Request request;
    CALL(operations[8].nonblocking(sparsely, &request));
    MPI(Type_free(&row));
    MPI(Type_free(&column));
    MPI(Type_free(&sparse));
    MPI(Wait(&request, MPI_STATUS_IGNORE));
    void* memory;
    MPI(Alloc_mem(1 << 20, MPI_INFO_NULL, &memory));
    std::memset(memory, 1, 1 << 20);
    MPI(Bcast(memory, 1 << 20, MPI_BYTE, 0, twin));
    MPI(Free_mem(memory));
    MPI(Comm_free(&own));
    MPI(Comm_free(&group_comm));
    MPI(Comm_free(&twin));
    if (attributes_deleted != round + 1) fake::fail("the program's attribute was deleted %d times", attributes_deleted);
  }
  end();
}

/// Requests in all ways to complete them, messages beside operations, errors of the program.
inline void all_completions() {
  begin();
  MPI_Comm twin;
  MPI(Comm_dup(MPI_COMM_WORLD, &twin));
  Arguments a(twin, 20, MPI_INT, sizeof(int)), b(MPI_COMM_WORLD, 2000, MPI_INT, sizeof(int));
  const Operation &first = operations[3], &second = operations[11];
  for (int way = 0; way < 9; ++way) {
    a.fill();
    b.fill();
    MPI_Request requests[2];
    CALL(first.nonblocking(a, &requests[0]));
    CALL(second.nonblocking(b, &requests[1]));
    MPI_Status statuses[2];
    int left = 2, flag = 0, index = 0, done = 0, indices[2];
    while (left > 0) switch (way) {
        case 0:
          MPI(Waitall(2, requests, statuses));
          left = 0;
          break;
        case 1:
          MPI(Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
          if (flag) left = 0;
          break;
        case 2:
          MPI(Waitany(2, requests, &index, statuses));
          --left;
          break;
        case 3:
          MPI(Testany(2, requests, &index, &flag, statuses));
          if (flag) --left;
          break;
        case 4:
          MPI(Waitsome(2, requests, &done, indices, statuses));
          left -= done;
          break;
        case 5:
          MPI(Testsome(2, requests, &done, indices, MPI_STATUSES_IGNORE));
          left -= done;
          break;
        case 6:
          MPI(Test(&requests[2 - left], &flag, statuses));
          if (flag) --left;
          break;
        case 7:
          MPI(Request_get_status(requests[2 - left], &flag, statuses));
          if (!flag) break;
          MPI(Wait(&requests[2 - left], statuses));
          --left;
          break;
        default: {
          int value = -1;
          const int right = (b.rank + 1) % b.p, from = (b.rank + b.p - 1) % b.p;
          MPI_Request sending;
          MPI(Issend(&b.rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &sending));
          MPI(Probe(from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
          MPI(Recv(&value, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
          MPI(Wait(&sending, MPI_STATUS_IGNORE));
          if (value != from) fake::fail("a message of rank %d says %d", from, value);
          MPI(Wait(&requests[1], MPI_STATUS_IGNORE));
          MPI(Wait(&requests[0], MPI_STATUS_IGNORE));
          left = 0;
        }
      }
    compare(first, a, "one of two");
    compare(second, b, "the other");
  }
  MPI(Comm_free(&twin));
  end();
}

/// Goes on after errors. A call that has failed may be made once more: either it has done nothing, and is as good as any,
/// or it and all that follow fail. What returns without an error is right. Buffers of a call that has failed are not used again:
/// where only MPI_Wait has failed, the operation is still under way.
class GoingOn {
 public:
  GoingOn() {
    begin();
    MPI(Comm_dup(MPI_COMM_WORLD, &twin_));
    MPI_Op_create(add, 1, &op_);
    MPI_Comm_rank(twin_, &rank_);
    MPI_Comm_size(twin_, &p_);
    for (const MPI_Comm comm : {MPI_COMM_WORLD, twin_})
      for (const int count : {1, most}) all_of(comm, count);
    MPI_Op_free(&op_);
    MPI_Comm_free(&twin_);
    MPI_Finalize();
  }

 private:
  static void add(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
  }
  /// What a rank brings to a call: to each other one the same.
  static int value(int call, int rank, int i) { return 100 * call + 10 * rank + i % 7; }
  int sum(int call, int i) const {
    int all = 0;
    for (int r = 0; r < p_; ++r) all += value(call, r, i);
    return all;
  }

  void all_of(MPI_Comm comm, int count) {
    Arguments a(comm, count, MPI_INT, sizeof(int));
    bool failed = false;
    const auto ended = [&](bool well) {
      failed |= !well;
      return well;
    };
    for (const int number : {1, 3, 10, 11})  // Bcast, Allreduce, Allgather, Alltoall
      for (const MPI_Op op : {MPI_SUM, op_}) {
        const Operation& operation = operations[number];
        a.op = op;
        const auto parts = number < 10 ? 1 : p_;
        const auto expected = [&](int i) {
          return number == 1   ? value(calls_, a.root, i)
                 : number == 3 ? sum(calls_, i)
                               : value(calls_, i / count, i % count);
        };
        const auto come = [&] {
          ++calls_;
          if (std::exchange(failed, false))
            for (auto* const buffer : {&a.send, &a.recv}) {
              given_.push_back(std::move(*buffer));
              buffer->resize(given_.back().size());
            }
          for (int i = 0; i < p_ * count; ++i)
            reinterpret_cast<int*>(a.send.data())[i] = value(calls_, rank_, i % count);
        };
        const auto see = [&](const char* form) {
          if (number == 1 && a.rank == a.root) return;
          for (int i = 0; i < parts * count; ++i)
            if (const int found = reinterpret_cast<int*>(a.recv.data())[i]; found != expected(i))
              fake::fail("%s, %s, the %d. call, element %d: %d, not %d", operation.name, form, calls_, i, found,
                         expected(i));
        };
        for (int times = 0; times < 3; ++times) {
          come();
          if (ended(AT_LAST(operation.blocking(a)))) see("blocking");
        }
        MPI_Request request;
        come();
        if (ended(AT_LAST(operation.nonblocking(a, &request)) && WENT_WELL(MPI_Wait(&request, MPI_STATUS_IGNORE))))
          see("nonblocking");
        come();
        const bool made = AT_LAST(operation.persistent(a, &request));
        for (int times = 0; times < 2; ++times) {
          std::ranges::fill(a.recv, std::byte{});
          if (ended(made && AT_LAST(MPI_Start(&request)) && WENT_WELL(MPI_Wait(&request, MPI_STATUS_IGNORE))))
            see("persistent");
        }
        if (made) WENT_WELL(MPI_Request_free(&request));
      }
    for (auto* const buffer : {&a.send, &a.recv}) given_.push_back(std::move(*buffer));
  }

  MPI_Comm twin_;
  MPI_Op op_;
  int p_, rank_, calls_ = 0;
  std::vector<std::vector<std::byte>> given_;
};
inline void all_going_on() { GoingOn(); }

struct Program {
  const char* name;
  void (*run)();
};
inline const Program all[] = {{"blocking", all_blocking},
                              {"requested", all_requested},
                              {"objects", all_objects},
                              {"completions", all_completions},
                              {"going_on", all_going_on}};

}  // namespace programs
