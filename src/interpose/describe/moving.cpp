// Operations that move data as they are. Reductions are in reducing.cpp.
#include "interpose/describe/describe.hpp"

#include "interpose/describe/aliases.hpp"
#include "interpose/host/failure.hpp"

namespace omnes::interpose {

namespace {

/// Both views describe the same data, one as this rank sends them and one as it receives them.
void check_equal(const View& send, const View& recv) {
  if (send.bytes != recv.bytes) throw Failure{MPI_ERR_TRUNCATE};
}

/// A call that moves so many bytes per part. All ranks know the bytes alike, but not the elements that they are made
/// of.
void moves(Job& job, Operation operation, std::size_t bytes, bool in_place, int root = 0) {
  job.call.operation = operation;
  job.call.root = root;
  job.call.in_place = in_place;
  job.call.count = bytes;
  job.nothing = bytes == 0;
}

bool valid(int root, const State& state) { return root >= 0 && root < state.p; }
constexpr const char* invalid_root = "invalid root";
using Kept = Job::Kept;

}  // namespace

const char* barrier(State&, Job&) { return nullptr; }

const char* bcast(State& state, Job& job, void* buffer, MPI_Count count, MPI_Datatype type, int root) {
  if (!valid(root, state)) return invalid_root;
  View data;
  if (const char* reason = data.set(buffer, count, type)) return reason;
  moves(job, Operation::bcast, data.bytes, false, root);
  const bool at_root = state.rank == root;
  job.lands = !at_root;
  job.receives(data, at_root ? Kept::all : Kept::none);
  return nullptr;
}

const char* gather(State& state, Job& job, const Exchange& a, int root) {
  if (!valid(root, state)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && a.send == MPI_IN_PLACE;
  View own, part;
  if (!in_place)
    if (const char* reason = own.set(a.send, a.send_count, a.send_type)) return reason;
  if (at_root)
    if (const char* reason = part.set(a.recv, a.recv_count, a.recv_type)) return reason;
  if (at_root && !in_place) {
    check_equal(own, part);
    if (const char* reason = check_own_part(Operation::gather, own, part.after(state.rank))) return reason;
  }

  moves(job, Operation::gather, at_root ? part.bytes : own.bytes, in_place, root);
  if (!in_place) job.sends(own);
  if (at_root) job.receives(part.times(state.p), in_place ? Kept::own : Kept::none, state.rank, state.p);
  return nullptr;
}

const char* scatter(State& state, Job& job, const Exchange& a, int root) {
  if (!valid(root, state)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && a.recv == MPI_IN_PLACE;
  View part, own;
  if (at_root)
    if (const char* reason = part.set(a.send, a.send_count, a.send_type)) return reason;
  if (!in_place)
    if (const char* reason = own.set(a.recv, a.recv_count, a.recv_type)) return reason;
  if (at_root && !in_place) {
    check_equal(part, own);
    if (const char* reason = check_own_part(Operation::scatter, part.after(state.rank), own)) return reason;
  }

  moves(job, Operation::scatter, at_root ? part.bytes : own.bytes, in_place, root);
  if (at_root) job.sends(part.times(state.p));
  if (!in_place) job.receives(own);
  return nullptr;
}

const char* allgather(State& state, Job& job, const Exchange& a) {
  const bool in_place = a.send == MPI_IN_PLACE;
  View own, part;
  if (!in_place)
    if (const char* reason = own.set(a.send, a.send_count, a.send_type)) return reason;
  if (const char* reason = part.set(a.recv, a.recv_count, a.recv_type)) return reason;
  if (!in_place) {
    check_equal(own, part);
    if (const char* reason = check_own_part(Operation::allgather, own, part.after(state.rank))) return reason;
  }

  moves(job, Operation::allgather, part.bytes, in_place);
  if (!in_place) job.sends(own);
  job.receives(part.times(state.p), in_place ? Kept::own : Kept::none, state.rank, state.p);
  return nullptr;
}

const char* alltoall(State& state, Job& job, const Exchange& a) {
  const bool in_place = a.send == MPI_IN_PLACE;
  View send, recv;
  if (!in_place)
    if (const char* reason = send.set(a.send, a.send_count, a.send_type)) return reason;
  if (const char* reason = recv.set(a.recv, a.recv_count, a.recv_type)) return reason;
  if (!in_place) {
    check_equal(send, recv);
    if (const char* reason = check_own_part(Operation::alltoall, send, recv)) return reason;
  }

  moves(job, Operation::alltoall, recv.bytes, in_place);
  if (!in_place) job.sends(send.times(state.p));
  job.receives(recv.times(state.p), in_place ? Kept::all : Kept::none);
  return nullptr;
}

}  // namespace omnes::interpose
