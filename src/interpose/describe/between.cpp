// Which neighbors a rank has, and what it contributes and gets.
#include "interpose/describe/between.hpp"

#include <numeric>
#include <optional>
#include <vector>

#include "interpose/data/spread.hpp"

namespace omnes::interpose::between {

namespace {

using Kept = Job::Kept;

/// What a rank is in an operation with a root.
struct Role {
  bool is_root = false;
  int root = 0;  ///< among all ranks
};

/// None: it has nothing to do, or no such root (`wrong`).
std::optional<Role> role(const State& state, int root, bool& wrong) {
  const Range remote = state.remote_group();
  wrong = false;
  if (root == MPI_ROOT) return Role{true, state.rank};
  if (root >= 0 && root < remote.count) return Role{false, remote.first + root};
  wrong = root != MPI_PROC_NULL;
  return std::nullopt;
}

/// Describes an operation with a root by `describe(role)`, unless this rank has nothing to do.
template <class Describe>
const char* with_root(const State& state, Job& job, int root, Describe describe) {
  bool wrong;
  const std::optional<Role> here = role(state, root, wrong);
  if (wrong) return invalid_root;
  job.nothing = !here;
  if (here) job.root = here->root;
  return here ? describe(*here) : nullptr;
}

std::vector<int> numbers(int count, int first = 0) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// Sends to the ranks `to`, receives from `from`; port: the place of this rank among those to whom each of the latter sends.
const Neighbors& neighbors(State& state, int key, Range from, int port, Range to) {
  const auto [at, fresh] = state.neighbors_between.try_emplace(key);
  if (fresh) at->second = {numbers(from.count, from.first), std::vector(from.count, port), numbers(to.count, to.first)};
  return at->second;
}

/// This rank's number in its group.
int number_of(const State& state) { return state.rank - state.own_group().first; }

void runs_among(Job& job, Operation operation, const Neighbors& neighbors, int key, std::size_t own_bytes) {
  job.call.operation = operation;
  job.call.neighbors = &neighbors;
  job.call.root = key;
  job.call.count = own_bytes;
}

// Neighbors and plans are told apart by keys: 0 for those between all; of a root, 2 * root + 1 to it, and one more from it.

/// `Sent`: a View or PartedView.
template <class Sent>
void runs_between_all(State& state, Job& job, Operation operation, std::size_t own_bytes, Sent send, PartedView recv) {
  const Range remote = state.remote_group();
  runs_among(job, operation, neighbors(state, 0, remote, number_of(state), remote), 0, own_bytes);
  job.sends(std::move(send));
  job.receives(std::move(recv));
}

/// Where contributions go to the root: each sends it one part.
void runs_to_root(State& state, Job& job, Operation operation, Role role, std::size_t own_bytes, const View& own,
                  PartedView parts) {
  const Range to = role.is_root ? Range{} : Range{role.root, 1};
  const Range from = role.is_root ? state.remote_group() : Range{};
  const int key = 2 * role.root + 1;
  runs_among(job, operation, neighbors(state, key, from, 0, to), key, own_bytes);
  if (role.is_root)
    job.receives(std::move(parts));
  else
    job.sends(own);
}

/// Where parts come from the root.
void runs_from_root(State& state, Job& job, Operation operation, Role role, PartedView parts) {
  const Range to = role.is_root ? state.remote_group() : Range{};
  const Range from = role.is_root ? Range{} : Range{role.root, 1};
  const int key = 2 * role.root + 2;
  runs_among(job, operation, neighbors(state, key, from, number_of(state), to), key, 0);
  if (role.is_root)
    job.sends(std::move(parts));
  else
    job.receives(std::move(parts));
}

/// Who contributes gives `send`, who gets a result `recv`.
const char* combine(Job& job, Operation operation, int root, const void* const* send, void* const* recv,
                    MPI_Count count, MPI_Datatype type, MPI_Op wanted) {
  View own, result;
  if (send)
    if (const char* reason = own.set(*send, count, type)) return reason;
  if (recv)
    if (const char* reason = result.set(*recv, count, type)) return reason;
  const View& any = send ? own : result;
  if (const char* reason = job.op.set(wanted, type, *any.info)) return reason;
  job.nothing = any.bytes == 0;
  job.lands = recv != nullptr;
  Call& call = job.call;
  call.operation = operation;
  call.root = root;
  call.count = any.count;
  call.element = job.op.stride;
  call.reduction = &job.op.reduction;
  if ((send && !straight(own)) || (recv && !straight(result))) {
    if (!send) {
      own = result;
      own.resize(0);
    }
    job.combines_spread(own, recv ? &result : nullptr);
    return nullptr;
  }
  if (send) call.send = *send;
  if (recv) call.recv = *recv;
  return nullptr;
}

}  // namespace

const char* bcast(State& state, Job& job, void* buffer, MPI_Count count, MPI_Datatype type, int root) {
  return with_root(state, job, root, [&](Role role) -> const char* {
    View data;
    if (const char* reason = data.set(buffer, count, type)) return reason;
    job.call.operation = Operation::bcast;
    job.call.root = role.root;
    job.call.count = data.bytes;
    job.nothing = data.bytes == 0;
    job.lands = !role.is_root;
    job.receives(data, role.is_root ? Kept::all : Kept::none);
    return nullptr;
  });
}

const char* reduce(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   int root) {
  return with_root(state, job, root, [&](Role role) {
    return combine(job, Operation::reduce, role.root, role.is_root ? nullptr : &send, role.is_root ? &recv : nullptr,
                   count, type, op);
  });
}

const char* allreduce(State&, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  return combine(job, Operation::allreduce, 0, &send, &recv, count, type, op);
}

const char* reduce_scatter(State& state, Job& job, const void* send, void* recv, MPI_Datatype type, MPI_Op op) {
  const auto own = job.counts.begin() + number_of(state);
  const std::size_t mine = *own, before = std::accumulate(job.counts.begin(), own, std::size_t{0});
  const std::size_t all = std::accumulate(own, job.counts.end(), before);
  View contribution, result;
  if (const char* reason = contribution.set(send, static_cast<MPI_Count>(all), type)) return reason;
  if (mine > 0)
    if (const char* reason = result.set(recv, static_cast<MPI_Count>(mine), type)) return reason;
  if (const char* reason = job.op.set(op, type, *contribution.info)) return reason;
  job.nothing = contribution.bytes == 0;
  Call& call = job.call;
  call.operation = Operation::allreduce;
  call.count = all;
  call.element = job.op.stride;
  call.reduction = &job.op.reduction;
  if (!straight(contribution) || (mine > 0 && !straight(result))) {
    result.resize(mine);
    job.combines_spread(contribution, &result);
    job.keeps_spread_part(before);
  } else {
    call.send = send;
    job.keeps_part(recv, mine * job.op.stride, before * job.op.stride, all * job.op.stride);
  }
  return nullptr;
}

const char* gather(State& state, Job& job, const Exchange& a, int root) {
  return with_root(state, job, root, [&](Role role) -> const char* {
    View own;
    PartedView parts;
    const char* const reason =
        role.is_root ? parts.set_equal(a.recv, a.recv_count, a.recv_type, numbers(state.remote_group().count))
                     : own.set(a.send, a.send_count, a.send_type);
    if (reason) return reason;
    const std::size_t own_bytes = role.is_root ? parts.bytes()[0] : own.bytes;
    runs_to_root(state, job, Operation::neighbor_allgather, role, own_bytes, own, std::move(parts));
    return nullptr;
  });
}

const char* gatherv(State& state, Job& job, const Exchange& own_arguments, const Parted& parts_arguments, int root) {
  return with_root(state, job, root, [&](Role role) -> const char* {
    View own;
    PartedView parts;
    const char* const reason = role.is_root
                                   ? parts.set(parts_arguments, state.remote_group().count)
                                   : own.set(own_arguments.send, own_arguments.send_count, own_arguments.send_type);
    if (reason) return reason;
    runs_to_root(state, job, Operation::neighbor_allgatherv, role, own.bytes, own, std::move(parts));
    return nullptr;
  });
}

const char* scatter(State& state, Job& job, const Exchange& a, int root) {
  return with_root(state, job, root, [&](Role role) -> const char* {
    PartedView parts;
    const char* const reason =
        role.is_root ? parts.set_equal(a.send, a.send_count, a.send_type, numbers(state.remote_group().count))
                     : parts.set_equal(a.recv, a.recv_count, a.recv_type, {0});
    if (reason) return reason;
    runs_from_root(state, job, Operation::neighbor_alltoall, role, std::move(parts));
    return nullptr;
  });
}

const char* scatterv(State& state, Job& job, const Parted& parts_arguments, const Exchange& a, int root) {
  return with_root(state, job, root, [&](Role role) -> const char* {
    PartedView parts;
    const char* const reason = role.is_root ? parts.set(parts_arguments, state.remote_group().count)
                                            : parts.set_equal(a.recv, a.recv_count, a.recv_type, {0});
    if (reason) return reason;
    runs_from_root(state, job, Operation::neighbor_alltoallv, role, std::move(parts));
    return nullptr;
  });
}

const char* allgather(State& state, Job& job, const Exchange& a) {
  View own;
  PartedView parts;
  if (const char* reason = own.set(a.send, a.send_count, a.send_type)) return reason;
  if (const char* reason = parts.set_equal(a.recv, a.recv_count, a.recv_type, numbers(state.remote_group().count)))
    return reason;
  runs_between_all(state, job, Operation::neighbor_allgatherv, own.bytes, own, std::move(parts));
  return nullptr;
}

const char* allgatherv(State& state, Job& job, const Exchange& own_arguments, const Parted& parts_arguments) {
  View own;
  PartedView parts;
  if (const char* reason = own.set(own_arguments.send, own_arguments.send_count, own_arguments.send_type))
    return reason;
  if (const char* reason = parts.set(parts_arguments, state.remote_group().count)) return reason;
  runs_between_all(state, job, Operation::neighbor_allgatherv, own.bytes, own, std::move(parts));
  return nullptr;
}

const char* alltoall(State& state, Job& job, const Exchange& a) {
  const std::vector<int> all = numbers(state.remote_group().count);
  PartedView send, recv;
  if (const char* reason = send.set_equal(a.send, a.send_count, a.send_type, all)) return reason;
  if (const char* reason = recv.set_equal(a.recv, a.recv_count, a.recv_type, all)) return reason;
  runs_between_all(state, job, Operation::neighbor_alltoallv, 0, std::move(send), std::move(recv));
  return nullptr;
}

const char* alltoallv(State& state, Job& job, Operation operation, const Parted& send_parts, const Parted& recv_parts) {
  const int all = state.remote_group().count;
  PartedView send, recv;
  if (const char* reason = send.set(send_parts, all)) return reason;
  if (const char* reason = recv.set(recv_parts, all)) return reason;
  const bool typed = operation == Operation::alltoallw;
  runs_between_all(state, job, typed ? Operation::neighbor_alltoallw : Operation::neighbor_alltoallv, 0,
                   std::move(send), std::move(recv));
  return nullptr;
}

}  // namespace omnes::interpose::between
