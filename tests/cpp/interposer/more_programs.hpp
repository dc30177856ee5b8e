// More of what ranks do in these tests: large counts, MPI_IN_PLACE, aliases, other communicators, messages, windows.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "programs.hpp"

namespace programs {

/// The arguments of a call with large counts; what they point to is kept by those that they are made of.
struct LargeArguments {
  MPI_Comm comm;
  int rank, root;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Op op;
  std::vector<std::byte>&send, &recv;
  const MPI_Count* counts;
  const MPI_Aint *at, *bytes_at, *far_at;
  const MPI_Datatype* types;

  explicit LargeArguments(Arguments& of)
      : comm(of.comm),
        rank(of.rank),
        root(of.root),
        count(of.count),
        type(of.type),
        op(of.op),
        send(of.send),
        recv(of.recv),
        counts(of.large_counts),
        at(of.large_at),
        bytes_at(of.far_at),
        far_at(of.far_at),
        types(of.types) {
    std::copy(std::begin(of.counts), std::end(of.counts), of.large_counts);
    std::copy(std::begin(of.at), std::end(of.at), of.large_at);
  }
};

// clang-format off
/// As in programs.hpp.
#define PROGRAMS_IN_PLACE(X) \
  X(Reduce, Ireduce, Reduce_init, a.rank == a.root ? MPI_IN_PLACE : a.send.data(), a.recv.data(), a.count, a.type, a.op, a.root,) \
  X(Allreduce, Iallreduce, Allreduce_init, MPI_IN_PLACE, a.recv.data(), a.count, a.type, a.op,) \
  X(Scan, Iscan, Scan_init, MPI_IN_PLACE, a.recv.data(), a.count, a.type, a.op,) \
  X(Exscan, Iexscan, Exscan_init, MPI_IN_PLACE, a.recv.data(), a.count, a.type, a.op,) \
  X(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, MPI_IN_PLACE, a.recv.data(), a.count, a.type, a.op,) \
  X(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, MPI_IN_PLACE, a.recv.data(), a.counts, a.type, a.op,) \
  X(Gather, Igather, Gather_init, a.rank == a.root ? MPI_IN_PLACE : a.send.data(), a.count, a.type, a.recv.data(), a.count, a.type, a.root,) \
  X(Scatter, Iscatter, Scatter_init, a.send.data(), a.count, a.type, a.rank == a.root ? MPI_IN_PLACE : a.recv.data(), a.count, a.type, a.root,) \
  X(Allgather, Iallgather, Allgather_init, MPI_IN_PLACE, a.count, a.type, a.recv.data(), a.count, a.type,) \
  X(Alltoall, Ialltoall, Alltoall_init, MPI_IN_PLACE, a.count, a.type, a.recv.data(), a.count, a.type,) \
  X(Gatherv, Igatherv, Gatherv_init, a.rank == a.root ? MPI_IN_PLACE : a.send.data(), a.count, a.type, a.recv.data(), a.counts, a.at, a.type, a.root,) \
  X(Scatterv, Iscatterv, Scatterv_init, a.send.data(), a.counts, a.at, a.type, a.rank == a.root ? MPI_IN_PLACE : a.recv.data(), a.count, a.type, a.root,) \
  X(Allgatherv, Iallgatherv, Allgatherv_init, MPI_IN_PLACE, a.count, a.type, a.recv.data(), a.counts, a.at, a.type,) \
  X(Alltoallv, Ialltoallv, Alltoallv_init, MPI_IN_PLACE, a.counts, a.at, a.type, a.recv.data(), a.counts, a.at, a.type,) \
  X(Alltoallw, Ialltoallw, Alltoallw_init, MPI_IN_PLACE, a.counts, a.bytes_at, a.types, a.recv.data(), a.counts, a.bytes_at, a.types,)
// clang-format on

#define PROGRAMS_LARGE(name, immediate, initial, ...)                      \
  {#name "_c",                                                             \
   [](Arguments& of) {                                                     \
     const LargeArguments a(of);                                           \
     return MPI_##name##_c(__VA_ARGS__ a.comm);                            \
   },                                                                      \
   [](Arguments& a) { return fake::name(__VA_ARGS__ a.comm); },            \
   [](Arguments& of, MPI_Request* request) {                               \
     const LargeArguments a(of);                                           \
     return MPI_##immediate##_c(__VA_ARGS__ a.comm, request);              \
   },                                                                      \
   [](Arguments& of, MPI_Request* request) {                               \
     const LargeArguments a(of);                                           \
     return MPI_##initial##_c(__VA_ARGS__ a.comm, MPI_INFO_NULL, request); \
   }},
#define PROGRAMS_SMALL(name, immediate, initial, ...)                                               \
  {#name, [](Arguments& a) { return MPI_##name(__VA_ARGS__ a.comm); },                              \
   [](Arguments& a) { return fake::name(__VA_ARGS__ a.comm); },                                     \
   [](Arguments& a, MPI_Request* request) { return MPI_##immediate(__VA_ARGS__ a.comm, request); }, \
   [](Arguments& a, MPI_Request* request) { return MPI_##initial(__VA_ARGS__ a.comm, MPI_INFO_NULL, request); }},
inline const Operation large[] = {PROGRAMS_WITH_COUNTS(PROGRAMS_LARGE)};
inline const Operation large_of_neighbors[] = {PROGRAMS_NEIGHBORS(PROGRAMS_LARGE)};
inline const Operation in_place[] = {PROGRAMS_IN_PLACE(PROGRAMS_SMALL)};
inline const Operation large_in_place[] = {PROGRAMS_IN_PLACE(PROGRAMS_LARGE)};
#undef PROGRAMS_SMALL
#undef PROGRAMS_LARGE

/// Four blocking calls, so that one with another count comes between two alike; then the other forms.
inline void in_all_forms(const Operation& operation, Arguments& a) {
  for (int times = 0; times < 2; ++times) blocking(operation, a);
  const int count = a.count;
  a.count = count / 2;
  if (!std::strchr(operation.name, 'v') && !std::strchr(operation.name, 'w')) blocking(operation, a);
  a.count = count;
  blocking(operation, a);
  nonblocking(operation, a);
  persistent(operation, a, 2);
}

/// One argument is another one, after the same call before: what was kept of that is not mistaken for it.
inline void with_changes(const Operation& operation, Arguments& a) {
  blocking(operation, a);
  blocking(operation, a);
  a.root = a.p - 1;
  blocking(operation, a);
  a.root = 0;
  a.type = MPI_FLOAT;
  blocking(operation, a);
  a.type = MPI_INT;
  a.op = MPI_MAX;
  blocking(operation, a);
  a.op = MPI_SUM;
  if (std::strstr(operation.name, "lltoall") || std::strstr(operation.name, "Reduce_scatter")) {
    for (int& count : a.counts) count = a.count - 1;
    blocking(operation, a);
    for (int& count : a.counts) count = a.count;
  }
  for (int r = 0; r < a.p; ++r) {
    a.at[r] = (a.p - 1 - r) * a.count;
    a.bytes_at[r] = a.at[r] * 4;
    a.far_at[r] = a.bytes_at[r];
  }
  blocking(operation, a);
  for (int r = 0; r < a.p; ++r) a.bytes_at[r] = (a.at[r] = r * a.count) * 4, a.far_at[r] = a.bytes_at[r];
}

inline MPI_Comm ring(MPI_Comm of) {
  int p;
  const int around = 1;
  MPI_Comm_size(of, &p);
  MPI_Comm grid;
  MPI(Cart_create(of, 1, &p, &around, 0, &grid));
  return grid;
}

/// Room for two neighbors, however few ranks there are.
inline void make_room_for_neighbors(Arguments& a) {
  for (int i = 0; i < most_ranks; ++i) {
    a.counts[i] = a.count;
    a.at[i] = a.count * i;
    a.far_at[i] = a.bytes_at[i] = static_cast<int>(a.at[i] * a.extent);
    a.types[i] = a.type;
  }
  a.send.resize(most_ranks * a.count * a.extent);
  a.recv.resize(a.send.size());
}

inline void all_large() {
  begin();
  const MPI_Comm grid = ring(MPI_COMM_WORLD);
  for (const int count : {1, 100, most}) {
    Arguments a(MPI_COMM_WORLD, count, MPI_INT, sizeof(int));
    for (const Operation& operation : large) in_all_forms(operation, a);
  }
  Arguments a(MPI_COMM_WORLD, 60, MPI_INT, sizeof(int));
  for (const Operation& operation : large) with_changes(operation, a);
  a.in_place = true;
  for (const Operation& operation : large_in_place) in_all_forms(operation, a);
  Arguments near(grid, 50, MPI_INT, sizeof(int));
  make_room_for_neighbors(near);
  for (const Operation& operation : large_of_neighbors) in_all_forms(operation, near);
  MPI_Comm comm = grid;
  MPI(Comm_free(&comm));
  end();
}

inline void all_in_place() {
  begin();
  for (const int count : {1, 100, most}) {
    Arguments a(MPI_COMM_WORLD, count, MPI_INT, sizeof(int));
    a.in_place = true;
    for (const Operation& operation : in_place) in_all_forms(operation, a);
    a.root = a.p - 1;
    for (const Operation& operation : in_place) blocking(operation, a);
  }
  Arguments a(MPI_COMM_WORLD, 60, MPI_INT, sizeof(int));
  for (const Operation& operation : operations) with_changes(operation, a);
  const MPI_Comm grid = ring(MPI_COMM_WORLD);
  Arguments near(grid, 60, MPI_INT, sizeof(int));
  make_room_for_neighbors(near);
  for (const Operation& operation : of_neighbors) in_all_forms(operation, near);
  MPI_Comm comm = grid;
  MPI(Comm_free(&comm));
  end();
}

/// A communicator gives the same as the host's, in all forms of some operations.
inline void try_out(MPI_Comm comm, bool has_neighbors) {
  Arguments a(comm, 20, MPI_INT, sizeof(int));
  for (const int number : {0, 1, 3, 10, 11, 15}) in_all_forms(operations[number], a);
  if (!has_neighbors) return;
  make_room_for_neighbors(a);
  for (const Operation& operation : of_neighbors) in_all_forms(operation, a);
}

inline void all_makers() {
  begin();
  int p, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int left = (rank + p - 1) % p, right = (rank + 1) % p, around[] = {1, 0}, sizes[] = {p, 1};
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "omnes_allreduce", "ring");
  std::vector<MPI_Comm> made(10, MPI_COMM_NULL);
  MPI(Comm_dup_with_info(MPI_COMM_WORLD, info, &made[0]));
  MPI(Comm_set_info(made[0], info));
  MPI(Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &made[1]));
  MPI(Cart_create(MPI_COMM_WORLD, 2, sizes, around, 0, &made[2]));
  const int kept[] = {1, 0};
  MPI(Cart_sub(made[2], kept, &made[3]));
  std::vector<int> index, edges;
  for (int r = 0; r < p; ++r) {
    edges.insert(edges.end(), {(r + p - 1) % p, (r + 1) % p});
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI(Graph_create(MPI_COMM_WORLD, p, index.data(), edges.data(), 0, &made[4]));
  const int degree = 2, to[] = {right, left}, sources[] = {left, right, rank}, destinations[] = {right, rank, left};
  MPI(Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, to, nullptr, MPI_INFO_NULL, 0, &made[5]));
  MPI(Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, nullptr, 3, destinations, nullptr, MPI_INFO_NULL, 0,
                                 &made[6]));
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI(Comm_create_group(MPI_COMM_WORLD, group, 5, &made[7]));
  MPI_Group_free(&group);
  MPI_Request requests[2];
  MPI(Comm_idup(MPI_COMM_WORLD, &made[8], &requests[0]));
  MPI(Comm_idup_with_info(MPI_COMM_WORLD, info, &made[9], &requests[1]));
  MPI(Waitall(2, requests, MPI_STATUSES_IGNORE));
  MPI_Info_free(&info);
  for (int i = 0; i < static_cast<int>(made.size()); ++i) try_out(made[i], i >= 2 && i <= 6);
  for (MPI_Comm& comm : made) MPI(Comm_disconnect(&comm));
  end();
}

/// Two groups; merged, they are as any other.
inline void all_between_groups() {
  begin();
  int p, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (p > 1) {
    MPI_Comm half, between, merged;
    const int color = rank % 2;
    MPI(Comm_split(MPI_COMM_WORLD, color, rank, &half));
    MPI(Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 3, &between));
    const int mine = rank + 1;
    int sum = 0, expected = 0;
    for (int r = 1 - color; r < p; r += 2) expected += r + 1;
    for (int times = 0; times < 2; ++times) {
      sum = 0;
      MPI(Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between));
      if (sum != expected) fake::fail("the other group's sum is %d, not %d", sum, expected);
    }
    MPI_Request request;
    MPI(Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between, &request));
    MPI(Wait(&request, MPI_STATUS_IGNORE));
    if (sum != expected) fake::fail("the other group's sum is %d, not %d, nonblocking", sum, expected);
    MPI(Barrier(between));
    const int others = color == 0 ? p / 2 : (p + 1) / 2;
    std::vector<int> all(others), parts(others);
    for (int form = 0; form < 2; ++form) {
      if (form == 0) {
        MPI(Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, between));
      } else {
        MPI(Iallgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, between, &request));
        MPI(Wait(&request, MPI_STATUS_IGNORE));
      }
      for (int r = 0; r < others; ++r)
        if (all[r] != 2 * r + 2 - color) fake::fail("allgather between groups brought %d", all[r]);
      for (int& part : all) part = mine;
      MPI(Alltoall(all.data(), 1, MPI_INT, parts.data(), 1, MPI_INT, between));
      for (int r = 0; r < others; ++r)
        if (parts[r] != 2 * r + 2 - color) fake::fail("alltoall between groups brought %d", parts[r]);
    }
    MPI_Comm twin;
    MPI(Comm_dup(between, &twin));
    MPI(Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, twin, &request));
    MPI(Comm_free(&twin));
    MPI(Wait(&request, MPI_STATUS_IGNORE));
    if (sum != expected) fake::fail("the other group's sum is %d, not %d, freed", sum, expected);
    MPI(Intercomm_merge(between, color, &merged));
    try_out(merged, false);
    MPI(Comm_free(&merged));
    MPI(Comm_free(&between));
    MPI(Comm_free(&half));
  }
  end();
}

/// Calls between two groups that come again: with the same counts, with others, with none. `allocating`: as calls may that are described anew; else at most
/// each third one does, of which some have waited and looked at what else there is to do.
class Again {
 public:
  explicit Again(bool allocating) : allocating_(allocating) {
    begin();
    MPI_Comm_rank(MPI_COMM_WORLD, &me_);
    MPI_Comm_size(MPI_COMM_WORLD, &p_);
    if (p_ > 1) use_all();
    end();
  }

 private:
  static constexpr int room = 64;   // elements of a part and what lies behind it
  static constexpr int calls = 12;  // with the same counts, one after the other

  void use_all() {
    MPI_Comm half;
    group_ = me_ % 2;
    MPI(Comm_split(MPI_COMM_WORLD, group_, -me_, &half));
    MPI(Intercomm_create(half, 0, MPI_COMM_WORLD, leader(1 - group_), 3, &between_));
    MPI(Comm_free(&half));
    MPI_Comm_rank(between_, &rank_);
    MPI_Comm_size(between_, &own_);
    others_ = (p_ + group_) / 2;
    const auto parts = [this](int r) { return value(1 - group_, r, rank_); };
    const auto wholes = [this](int r) { return value(1 - group_, r, 0); };
    const auto sums = [this](int) { return sum_; };
    // Of one group each part is longer than of the other. With arrays, parts lie apart, and one has no data.
    again("Allgather", wholes, [&] { MPI(Allgather(sent(0), mine_, MPI_INT, got_, theirs_, MPI_INT, between_)); });
    again("Allgatherv", wholes, [&] {
      set_arrays([](int from, int) { return from; });
      MPI(Allgatherv(sent(0), counts_sent_[0], MPI_INT, got_, counts_, at_, MPI_INT, between_));
    });
    again("Alltoall", parts,
          [&] { MPI(Alltoall(sent_of_all(mine_), mine_, MPI_INT, got_, theirs_, MPI_INT, between_)); });
    again("Alltoallv", parts, [&] {
      set_arrays([](int from, int to) { return from + to; });
      MPI(Alltoallv(sent_of_all(room), counts_sent_, at_, MPI_INT, got_, counts_, at_, MPI_INT, between_));
    });
    again("Alltoallw", parts, [&] {
      set_arrays([](int from, int to) { return from + to; });
      MPI(Alltoallw(sent_of_all(room), counts_sent_, bytes_at_, types_, got_, counts_, bytes_at_, types_, between_));
    });
    again("Reduce_scatter_block", sums, [&] {
      MPI(Reduce_scatter_block(sent(0), got_, n_ * others_, MPI_INT, MPI_SUM, between_));
      counts_[0] = n_ * others_;
    });
    again("Reduce_scatter", sums, [&] {
      for (int r = 0; r < own_; ++r) cut_[r] = r == 0 ? n_ * others_ * own_ : 0;
      MPI(Reduce_scatter(sent(0), got_, cut_, MPI_INT, MPI_SUM, between_));
      counts_[0] = cut_[rank_];
    });
    for (int of_root = 0; of_root < 2; ++of_root) {
      const int last = of_root == group_ ? own_ - 1 : others_ - 1;
      root_ = of_root != group_ ? last : rank_ == last ? MPI_ROOT : MPI_PROC_NULL;
      const auto gathered = [this, wholes](int r) { return root_ == MPI_ROOT ? wholes(r) : 0; };
      const auto scattered = [this, last](int) { return root_ >= 0 ? value(1 - group_, last, rank_) : 0; };
      again("Gather", gathered, [&] { MPI(Gather(sent(0), mine_, MPI_INT, got_, theirs_, MPI_INT, root_, between_)); });
      again("Gatherv", gathered, [&] {
        set_arrays([](int from, int) { return from; });
        MPI(Gatherv(sent(0), counts_sent_[0], MPI_INT, got_, counts_, at_, MPI_INT, root_, between_));
      });
      again("Scatter", scattered,
            [&] { MPI(Scatter(sent_of_all(mine_), mine_, MPI_INT, got_, theirs_, MPI_INT, root_, between_)); });
      again("Scatterv", scattered, [&] {
        set_arrays([](int, int to) { return to; });
        MPI(Scatterv(sent_of_all(room), counts_sent_, at_, MPI_INT, got_, counts_[0], MPI_INT, root_, between_));
        at_[0] = 0;
      });
    }
    MPI(Comm_free(&between_));
  }

  /// `expected(r)`: the elements of part r; 0: they are not written.
  template <class Expected, class Call>
  void again(const char* operation, Expected expected, Call call) {
    for (const int n : {3, 3, 1, 4, 0, 2}) {
      int allocated = 0;
      for (int times = 0; times < calls; ++times) {
        n_ = n;
        mine_ = group_ == 0 ? n : 2 * n;
        theirs_ = group_ == 0 ? 2 * n : n;
        for (int r = 0; r < most_ranks; ++r) counts_[r] = theirs_, at_[r] = theirs_ * r;
        std::fill(std::begin(got_), std::end(got_), 0);
        sum_ = 0;
        for (int r = 0; r < others_; ++r) sum_ += value(1 - group_, r, 0);
        const long before = fake::allocations();
        call();
        allocated += fake::allocations() != before;
        const bool one = operation[0] == 'S' || operation[0] == 'R';
        for (int r = 0; r < (one ? 1 : others_); ++r)
          for (int i = 0; i < counts_[r]; ++i)
            if (got_[at_[r] + i] != expected(r))
              fake::fail("%s of %d, the %d. call: element %d of part %d is %d, not %d", operation, n, times + 1, i, r,
                         got_[at_[r] + i], expected(r));
      }
      if (!allocating_ && n > 0 && allocated > calls / 3)
        fake::fail("%s of %d has allocated in %d of %d calls", operation, n, allocated, calls);
    }
  }

  /// What that rank of that group sends to that one of the other group.
  static int value(int group, int rank, int to) { return 1 + group * 100 + rank * 10 + to; }
  /// The first in its half, where ranks go the other way round.
  int leader(int group) const { return (p_ - 1) % 2 == group ? p_ - 1 : p_ - 2; }

  const int* sent(int to) {
    std::fill(std::begin(sent_), std::end(sent_), value(group_, rank_, to));
    return sent_;
  }
  const int* sent_of_all(int apart) {
    for (int r = 0; r < others_; ++r)
      for (int i = 0; i < mine_; ++i) sent_[r * apart + (apart == room ? n_ : 0) + i] = value(group_, rank_, r);
    return sent_;
  }
  /// Parts with gaps between them; those for which `key(from, to)` is odd have no data.
  void set_arrays(int (*key)(int from, int to)) {
    for (int r = 0; r < most_ranks; ++r) {
      counts_sent_[r] = key(rank_, r) % 2 ? 0 : mine_;
      counts_[r] = key(r, rank_) % 2 ? 0 : theirs_;
      at_[r] = room * r + n_;
      bytes_at_[r] = at_[r] * static_cast<int>(sizeof(int));
      types_[r] = MPI_INT;
    }
  }

  const bool allocating_;
  int me_, p_, group_, rank_, own_, others_, n_, mine_, theirs_, sum_, root_;
  MPI_Comm between_;
  int sent_[most_ranks * room * 2], got_[most_ranks * room * 2];
  int counts_[most_ranks], counts_sent_[most_ranks], at_[most_ranks], bytes_at_[most_ranks], cut_[most_ranks];
  MPI_Datatype types_[most_ranks];
};
inline void all_again() { Again{true}; }

/// Many communicators at once, and one after the other: what they leave is used again, or given up.
inline void all_come_and_go() {
  begin();
  for (int round = 0; round < 2; ++round) {
    std::vector<MPI_Comm> made(40);
    for (MPI_Comm& comm : made) MPI(Comm_dup(MPI_COMM_WORLD, &comm));
    for (const MPI_Comm comm : made) {
      Arguments a(comm, 5, MPI_INT, sizeof(int));
      blocking(operations[3], a);
    }
    for (MPI_Comm& comm : made) MPI(Comm_free(&comm));
  }
  for (int times = 0; times < 600; ++times) {
    MPI_Comm twin;
    MPI(Comm_dup(MPI_COMM_WORLD, &twin));
    int one = 1, sum = 0, p;
    MPI(Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, twin));
    MPI_Comm_size(twin, &p);
    if (sum != p) fake::fail("the sum of %d ones is %d", p, sum);
    MPI(Comm_free(&twin));
  }
  end();
}

/// Messages from the left, in all ways, while an operation waits for the last rank, and while none does.
class Messages {
 public:
  Messages() {
    begin();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &p_);
    left_ = (rank_ + p_ - 1) % p_;
    right_ = (rank_ + 1) % p_;
    for (int round = 0; round < 3; ++round) {
      MPI_Request barrier = MPI_REQUEST_NULL;
      const bool waits = round > 0, last = rank_ == p_ - 1;
      if (waits && !last) MPI(Ibarrier(MPI_COMM_WORLD, &barrier));
      of_ints();
      with_large_counts();
      if (waits && last) MPI(Ibarrier(MPI_COMM_WORLD, &barrier));
      MPI(Wait(&barrier, MPI_STATUS_IGNORE));
    }
    end();
  }

 private:
  void expect(const char* how) {
    if (in_ != 100 * left_ + number_) fake::fail("%s: %d from rank %d, not %d", how, in_, left_, 100 * left_ + number_);
  }
  const int* next() {
    ++number_;
    out_ = 100 * rank_ + number_;
    in_ = -1;
    return &out_;
  }
  /// `send` sends out_; its receive is there already.
  template <class Send>
  void into_waiting(const char* how, Send send) {
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv((next(), &in_), 1, MPI_INT, left_, 1, MPI_COMM_WORLD, &request);
    send();
    MPI(Wait(&request, &status));
    expect(how);
  }
  void of_ints() {
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Message message;
    into_waiting("Ssend", [&] { MPI(Ssend(&out_, 1, MPI_INT, right_, 1, comm)); });
    into_waiting("Rsend", [&] { MPI(Rsend(&out_, 1, MPI_INT, right_, 1, comm)); });
    MPI(Send(next(), 1, MPI_INT, right_, 1, comm));
    MPI(Recv(&in_, 1, MPI_INT, left_, 1, comm, &status));
    expect("Send");
    if (status.MPI_SOURCE != left_ || status.MPI_TAG != 1) fake::fail("the status names %d", status.MPI_SOURCE);
    MPI(Bsend(next(), 1, MPI_INT, right_, 1, comm));
    int flag = 0;
    while (!flag) MPI(Iprobe(left_, 1, comm, &flag, &status));
    MPI(Recv(&in_, 1, MPI_INT, left_, 1, comm, &status));
    expect("Bsend");
    MPI(Ibsend(next(), 1, MPI_INT, right_, 1, comm, &requests[0]));
    MPI(Mprobe(left_, 1, comm, &message, &status));
    MPI(Mrecv(&in_, 1, MPI_INT, &message, &status));
    MPI(Wait(&requests[0], &status));
    expect("Mrecv");
    MPI(Bsend_init(next(), 1, MPI_INT, right_, 1, comm, &requests[0]));
    MPI(Startall(1, requests));
    for (flag = 0; !flag;) MPI(Improbe(left_, 1, comm, &flag, &message, &status));
    MPI_Request received;
    MPI_Imrecv(&in_, 1, MPI_INT, &message, &received);
    requests[1] = received;
    MPI(Waitall(2, requests, MPI_STATUSES_IGNORE));
    expect("Bsend_init");
    MPI(Request_free(&requests[0]));
    MPI(Sendrecv(next(), 1, MPI_INT, right_, 1, &in_, 1, MPI_INT, left_, 1, comm, &status));
    expect("Sendrecv");
    in_ = *next();
    MPI(Sendrecv_replace(&in_, 1, MPI_INT, right_, 1, left_, 1, comm, &status));
    expect("Sendrecv_replace");
  }
  void with_large_counts() {
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Message message;
    into_waiting("Ssend_c", [&] { MPI(Ssend_c(&out_, 1, MPI_INT, right_, 1, comm)); });
    into_waiting("Rsend_c", [&] { MPI(Rsend_c(&out_, 1, MPI_INT, right_, 1, comm)); });
    MPI(Send_c(next(), 1, MPI_INT, right_, 1, comm));
    MPI(Recv_c(&in_, 1, MPI_INT, left_, 1, comm, &status));
    expect("Send_c");
    MPI(Bsend_c(next(), 1, MPI_INT, right_, 1, comm));
    MPI(Mprobe(left_, 1, comm, &message, &status));
    MPI(Mrecv_c(&in_, 1, MPI_INT, &message, &status));
    expect("Bsend_c");
    MPI(Ibsend_c(next(), 1, MPI_INT, right_, 1, comm, &requests[0]));
    MPI(Recv_c(&in_, 1, MPI_INT, left_, 1, comm, &status));
    MPI(Wait(&requests[0], &status));
    expect("Ibsend_c");
    MPI(Bsend_init_c(next(), 1, MPI_INT, right_, 1, comm, &requests[0]));
    MPI(Start(&requests[0]));
    MPI(Recv_c(&in_, 1, MPI_INT, left_, 1, comm, &status));
    MPI(Wait(&requests[0], &status));
    MPI(Request_free(&requests[0]));
    expect("Bsend_init_c");
    MPI(Sendrecv_c(next(), 1, MPI_INT, right_, 1, &in_, 1, MPI_INT, left_, 1, comm, &status));
    expect("Sendrecv_c");
    in_ = *next();
    MPI(Sendrecv_replace_c(&in_, 1, MPI_INT, right_, 1, left_, 1, comm, &status));
    expect("Sendrecv_replace_c");
  }

  int rank_, p_, left_, right_, number_ = 0, out_ = 0, in_ = 0;
};
inline void all_messages() { Messages(); }

/// What MPI 4.1 says of several requests without completing them.
inline void all_looks() {
  begin();
  for (int way = 0; way < 4; ++way) {
    Arguments a(MPI_COMM_WORLD, 20, MPI_INT, sizeof(int)), b(MPI_COMM_WORLD, 20, MPI_INT, sizeof(int));
    MPI_Request requests[3];
    CALL(operations[3].nonblocking(a, &requests[0]));
    CALL(operations[11].nonblocking(b, &requests[1]));
    requests[2] = MPI_REQUEST_NULL;
    MPI_Status statuses[3];
    int flag = 0, index = -1, done = 0, indices[3];
    while (!flag) switch (way) {
        case 0: MPI(Request_get_status_all(3, requests, &flag, statuses)); break;
        case 1: MPI(Request_get_status_any(3, requests, &index, &flag, statuses)); break;
        case 2:
          MPI(Request_get_status_some(3, requests, &done, indices, statuses));
          flag = done == 2;
          break;
        default: MPI(Request_get_status(requests[0], &flag, statuses));
      }
    if (way == 1 && index != 0 && index != 1) fake::fail("the request that is complete is no. %d", index);
    if (requests[0] == MPI_REQUEST_NULL) fake::fail("a request is gone that was only looked at");
    MPI(Waitall(3, requests, statuses));
    compare(operations[3], a, "looked at");
    compare(operations[11], b, "looked at");
  }
  end();
}

/// Memory that others see: windows, and what MPI_Alloc_mem gives.
inline void all_memory() {
  begin();
  constexpr int count = 50000;
  int p, rank, bytes = count * static_cast<int>(sizeof(int));
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto use = [&](int* data) {
    std::vector<int> sums(count);
    for (int times = 0; times < 3; ++times) {
      for (int i = 0; i < count; ++i) data[i] = rank + i % 100 + times;
      MPI(Allreduce(data, sums.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
      for (int i = 0; i < count; ++i)
        if (const int sum = p * (p - 1) / 2 + p * (i % 100 + times); sums[i] != sum)
          fake::fail("element %d of the sum is %d, not %d", i, sums[i], sum);
      MPI(Barrier(MPI_COMM_WORLD));
    }
  };
  MPI_Win window, other;
  int *data, *own = static_cast<int*>(std::malloc(static_cast<std::size_t>(bytes)));
  MPI(Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &data, &window));
  MPI(Win_allocate_shared_c(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &data, &other));
  use(data);
  MPI(Win_free(&window));
  use(data);
  MPI(Win_free(&other));
  MPI(Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &data, &window));
  use(data);
  MPI(Win_free(&window));
  MPI(Win_allocate_c(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &data, &window));
  use(data);
  MPI(Win_free(&window));
  MPI(Win_create(own, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  use(own);
  MPI(Win_free(&window));
  MPI(Win_create_c(own, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  MPI(Win_free(&window));
  MPI(Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  MPI(Win_free(&window));
  std::free(own);
  MPI_Info info;
  MPI_Info_create(&info);
  for (const MPI_Info with : {MPI_INFO_NULL, info})
    for (const MPI_Aint some : {MPI_Aint{100}, MPI_Aint{bytes}, MPI_Aint{1} << 22}) {
      MPI(Alloc_mem(some, with, &data));
      data[some / 4 - 1] = 1;
      if (some >= bytes) use(data);
      MPI(Free_mem(data));
    }
  MPI_Info_free(&info);
  end();
}

/// Datatypes of all kinds, some with gaps, some with elements before their address.
inline void all_types() {
  begin();
  MPI_Datatype types[9], pair, row;
  const int lengths[] = {1, 2}, places[] = {0, 3}, sizes[] = {4, 5}, part[] = {2, 3}, starts[] = {1, 1};
  const MPI_Aint far[] = {0, 12};
  const MPI_Datatype two[] = {MPI_INT, MPI_INT};
  MPI(Type_contiguous(2, MPI_INT, &pair));
  MPI(Type_vector(2, 1, 2, pair, &row));
  MPI_Type_indexed(2, lengths, places, MPI_INT, &types[0]);
  MPI_Type_create_hindexed(2, lengths, far, MPI_INT, &types[1]);
  MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &types[2]);
  MPI_Type_create_hindexed_block(2, 1, far, MPI_INT, &types[3]);
  MPI_Type_create_struct(2, lengths, far, two, &types[4]);
  MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_INT, &types[5]);
  MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_FORTRAN, MPI_INT, &types[6]);
  MPI(Type_create_hvector(3, 1, 12, row, &types[7]));
  MPI(Type_create_resized(row, 0, 32, &types[8]));
  for (MPI_Datatype& type : types) {
    MPI(Type_commit(&type));
    Arguments a(MPI_COMM_WORLD, 6, type, 80);
    for (const int number : {1, 8, 9, 10, 11, 12, 13, 14, 15, 16}) {
      blocking(operations[number], a);
      nonblocking(operations[number], a);
    }
    persistent(operations[11], a, 2);
    MPI(Type_free(&type));
  }
  MPI(Type_free(&row));
  MPI(Type_free(&pair));
  // Predefined ones, in reductions that have kernels for them, and that have none.
  const std::pair<MPI_Datatype, std::size_t> numbers[] = {
      {MPI_LONG, 8}, {MPI_BYTE, 1}, {MPI_FLOAT, 4}, {MPI_DOUBLE, 8}};
  for (const auto& [type, size] : numbers)
    for (const MPI_Op op : {MPI_SUM, MPI_MIN, MPI_MAX}) {
      Arguments a(MPI_COMM_WORLD, 50, type, size);
      a.op = op;
      for (const int number : {2, 3, 4, 5, 6, 7}) blocking(operations[number], a);
    }
  end();
}

/// An operation of the program on a type with gaps: of three ints the first and the last.
inline void add_ends(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i)
    for (const int at : {0, 2}) static_cast<int*>(inout)[3 * i + at] += static_cast<int*>(in)[3 * i + at];
}
inline void all_gaps() {
  begin();
  MPI_Datatype ends;
  MPI(Type_vector(2, 1, 2, MPI_INT, &ends));
  MPI(Type_commit(&ends));
  MPI_Op op;
  MPI_Op_create(add_ends, 1, &op);
  for (const int count : {1, 7, 500}) {
    Arguments a(MPI_COMM_WORLD, count, ends, 3 * sizeof(int));
    a.op = op;
    for (const int number : {2, 3, 4, 5, 6, 7}) {
      blocking(operations[number], a);
      nonblocking(operations[number], a);
      persistent(operations[number], a, 2);
    }
    a.in_place = true;
    for (const int number : {0, 1, 2, 3, 4, 5}) {
      blocking(in_place[number], a);
      nonblocking(in_place[number], a);
    }
  }
  MPI(Op_free(&op));
  MPI(Type_free(&ends));
  end();
}

/// Threads, each with a communicator of its own.
inline void all_threads() {
  begin(MPI_THREAD_MULTIPLE);
  constexpr int number = 3;
  MPI_Comm twins[number];
  for (MPI_Comm& twin : twins) MPI(Comm_dup(MPI_COMM_WORLD, &twin));
  std::vector<std::thread> threads;
  for (const MPI_Comm twin : twins)
    threads.emplace_back([twin] {
      const fake::Safe test;
      for (const int count : {1, 50, most}) {
        Arguments a(twin, count, MPI_INT, sizeof(int));
        for (const int which : {0, 1, 3, 8, 11, 14}) in_all_forms(operations[which], a);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& twin : twins) MPI(Comm_free(&twin));
  end();
}

/// A GPU's memory, by a stand-in for its driver: the CPU cannot read it.
struct Device {
  std::byte* (*allocate)(std::size_t bytes, int managed);
  void (*copy)(void* to, const void* from, std::size_t bytes);
  std::byte *send, *recv;
};
inline Device device;

/// The arguments of a call whose buffers lie there.
struct DeviceArguments {
  struct Memory {
    std::byte* at;
    std::byte* data() const { return at; }
  };
  MPI_Comm comm;
  int rank, root, count;
  MPI_Datatype type;
  MPI_Op op;
  Memory send{device.send}, recv{device.recv};
  const int *counts, *at, *bytes_at;
  const MPI_Datatype* types;

  explicit DeviceArguments(const Arguments& of)
      : comm(of.comm),
        rank(of.rank),
        root(of.root),
        count(of.count),
        type(of.type),
        op(of.op),
        counts(of.counts),
        at(of.at),
        bytes_at(of.bytes_at),
        types(of.types) {}
};
#define PROGRAMS_ON_DEVICE(name, immediate, initial, ...)              \
  {#name " on a device",                                               \
   [](Arguments& of) {                                                 \
     const DeviceArguments a(of);                                      \
     return MPI_##name(__VA_ARGS__ a.comm);                            \
   },                                                                  \
   [](Arguments& a) { return fake::name(__VA_ARGS__ a.comm); },        \
   [](Arguments& of, MPI_Request* request) {                           \
     const DeviceArguments a(of);                                      \
     return MPI_##immediate(__VA_ARGS__ a.comm, request);              \
   },                                                                  \
   [](Arguments& of, MPI_Request* request) {                           \
     const DeviceArguments a(of);                                      \
     return MPI_##initial(__VA_ARGS__ a.comm, MPI_INFO_NULL, request); \
   }},
inline const Operation on_device[] = {PROGRAMS_OPERATIONS(PROGRAMS_ON_DEVICE)};
inline const Operation on_device_in_place[] = {PROGRAMS_IN_PLACE(PROGRAMS_ON_DEVICE)};
#undef PROGRAMS_ON_DEVICE

inline void try_on_device(const Operation& operation, Arguments& a) {
  MPI_Request request = MPI_REQUEST_NULL, persistent;
  CALL(operation.persistent(a, &persistent));
  for (int form = 0; form < 4; ++form) {
    a.fill();
    device.copy(device.send, a.send.data(), a.send.size());
    device.copy(device.recv, a.recv.data(), a.recv.size());
    if (form < 2) {
      CALL(operation.blocking(a));
    } else if (form == 2) {
      CALL(operation.nonblocking(a, &request));
      MPI(Wait(&request, MPI_STATUS_IGNORE));
    } else {
      MPI(Start(&persistent));
      MPI(Wait(&persistent, MPI_STATUS_IGNORE));
    }
    device.copy(a.recv.data(), device.recv, a.recv.size());
    compare(operation, a, form < 2 ? "blocking" : form == 2 ? "nonblocking" : "persistent");
  }
  MPI(Request_free(&persistent));
}

/// All operations on the memory of that driver's device, `managed`: that moves between it and the host.
inline void use_device(const char* driver, bool managed) {
  begin();
  {
    Arguments before(MPI_COMM_WORLD, 10, MPI_INT, sizeof(int));
    blocking(operations[3], before);
    blocking(operations[3], before);
  }
  void* const library = dlopen(driver, RTLD_NOW);
  if (!library) fake::fail("%s: %s", driver, dlerror());
  device.allocate = reinterpret_cast<decltype(device.allocate)>(dlsym(library, "stand_in_allocate"));
  device.copy = reinterpret_cast<decltype(device.copy)>(dlsym(library, "stand_in_copy"));
  device.send = device.allocate(1 << 20, managed);
  device.recv = device.allocate(1 << 20, managed);
  MPI_Datatype ends, mixed;
  MPI(Type_vector(2, 1, 2, MPI_INT, &ends));
  MPI(Type_commit(&ends));
  const int lengths[] = {1, 2};
  const MPI_Aint at[] = {0, 8};
  const MPI_Datatype of[] = {MPI_INT, MPI_INT};
  MPI_Type_create_struct(2, lengths, at, of, &mixed);
  MPI(Type_commit(&mixed));
  MPI_Op op;
  MPI_Op_create(add_ends, 1, &op);
  for (const int count : {1, 300}) {
    Arguments a(MPI_COMM_WORLD, count, MPI_INT, sizeof(int)), gaps(MPI_COMM_WORLD, count, ends, 3 * sizeof(int)),
        structs(MPI_COMM_WORLD, count, mixed, 4 * sizeof(int));
    gaps.op = op;
    for (const Operation& operation : on_device) {
      try_on_device(operation, a);
      try_on_device(operation, gaps);
      if (!std::strstr(operation.name, "educe") && !std::strstr(operation.name, "can"))
        try_on_device(operation, structs);
    }
    a.in_place = gaps.in_place = true;
    for (const Operation& operation : on_device_in_place) {
      try_on_device(operation, a);
      try_on_device(operation, gaps);
    }
  }
  MPI(Op_free(&op));
  MPI(Type_free(&mixed));
  MPI(Type_free(&ends));
  end();
}

inline const Program more[] = {{"large", all_large},
                               {"in_place", all_in_place},
                               {"makers", all_makers},
                               {"between_groups", all_between_groups},
                               {"come_and_go", all_come_and_go},
                               {"messages", all_messages},
                               {"looks", all_looks},
                               {"memory", all_memory},
                               {"types", all_types},
                               {"gaps", all_gaps},
                               {"threads", all_threads}};

}  // namespace programs
