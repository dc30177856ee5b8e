// Operations that move data as they are. Reductions are in reducing.cpp.
#include <numeric>
#include <utility>
#include <vector>

#include "interpose/describe/between.hpp"
#include "interpose/describe/describe.hpp"

#include "interpose/describe/aliases.hpp"

namespace omnes::interpose {

namespace {

/// Sets the views of what this rank sends and receives, where it does: a part, or the first one of many. `sent` and
/// `received` are the numbers of its own part. Where there is more room for that than it sends itself, all parts are taken to be as short.
const char* set(const State& state, Operation operation, const Exchange& a, View* send, int sent, View* recv,
                int received) {
  if (send)
    if (const char* reason = send->set(a.send, a.send_count, a.send_type)) return reason;
  if (recv)
    if (const char* reason = recv->set(a.recv, a.recv_count, a.recv_type)) return reason;
  if (!send || !recv) return nullptr;
  const bool scatters = operation == Operation::scatter;
  const View own_sent = send->after(sent), parts = (scatters ? send : recv)->times(state.p);
  View own_received = recv->after(received), &own = scatters ? *recv : *send;
  if (operation != Operation::alltoall) {
    if (const auto fewer = fewer_elements(own_sent.bytes, own_received); fewer && own_sent.bytes > 0) {
      own_received.resize(*fewer);
      recv->resize(*fewer);
      own.apart = true;  // no call whose counts are others is like this one
    }
    set_apart(own, scatters ? own_sent : own_received, {&parts, 1});
  }
  return check_own_part(operation, own_sent, own_received);
}

/// A call that moves so many bytes per part. All ranks know the bytes alike, but not the elements that they are made
/// of.
void moves(Job& job, Operation operation, std::size_t bytes, bool in_place, int root = 0) {
  job.moves(operation, bytes, in_place, root);
  job.nothing = bytes == 0;
}

using Kept = Job::Kept;

/// Parts of all ranks like this one, the first.
const char* receive_all(const State& state, Job& job, const Exchange& a, const View& part, bool in_place) {
  if (part.count == static_cast<std::size_t>(a.recv_count)) {
    job.receives(part.times(state.p), in_place ? Kept::own : Kept::none, state.rank, state.p);
    return nullptr;
  }
  std::vector<int> all(state.p);
  std::iota(all.begin(), all.end(), 0);
  PartedView parts;
  if (const char* reason = parts.set_equal(a.recv, static_cast<MPI_Count>(part.count), a.recv_type, all, a.recv_count))
    return reason;
  job.receives_with_room_between(std::move(parts));
  return nullptr;
}

}  // namespace

const char* barrier(State&, Job&) { return nullptr; }

const char* bcast(State& state, Job& job, void* buffer, MPI_Count count, MPI_Datatype type, int root) {
  if (state.first_group > 0) return between::bcast(state, job, buffer, count, type, root);
  if (!state.has(root)) return invalid_root;
  View data;
  if (const char* reason = data.set(buffer, count, type)) return reason;
  moves(job, Operation::bcast, data.bytes, false, root);
  const bool at_root = state.rank == root;
  job.lands = !at_root;
  job.receives(data, at_root ? Kept::all : Kept::none);
  return nullptr;
}

const char* gather(State& state, Job& job, const Exchange& a, int root) {
  if (state.first_group > 0) return between::gather(state, job, a, root);
  if (!state.has(root)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && a.send == MPI_IN_PLACE;
  View own, part;
  if (const char* reason =
          set(state, Operation::gather, a, in_place ? nullptr : &own, 0, at_root ? &part : nullptr, state.rank))
    return reason;
  moves(job, Operation::gather, at_root ? part.bytes : own.bytes, in_place, root);
  if (!in_place) job.sends(own);
  return at_root ? receive_all(state, job, a, part, in_place) : nullptr;
}

const char* scatter(State& state, Job& job, const Exchange& a, int root) {
  if (state.first_group > 0) return between::scatter(state, job, a, root);
  if (!state.has(root)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && a.recv == MPI_IN_PLACE;
  View part, own;
  if (const char* reason =
          set(state, Operation::scatter, a, at_root ? &part : nullptr, state.rank, in_place ? nullptr : &own, 0))
    return reason;
  moves(job, Operation::scatter, at_root ? part.bytes : own.bytes, in_place, root);
  if (at_root) job.sends(part.times(state.p));
  if (!in_place) job.receives(own);
  return nullptr;
}

const char* allgather(State& state, Job& job, const Exchange& a) {
  if (state.first_group > 0) return between::allgather(state, job, a);
  const bool in_place = a.send == MPI_IN_PLACE;
  View own, part;
  if (const char* reason = set(state, Operation::allgather, a, in_place ? nullptr : &own, 0, &part, state.rank))
    return reason;
  moves(job, Operation::allgather, part.bytes, in_place);
  if (!in_place) job.sends(own);
  return receive_all(state, job, a, part, in_place);
}

const char* alltoall(State& state, Job& job, const Exchange& a) {
  if (state.first_group > 0) return between::alltoall(state, job, a);
  const bool in_place = a.send == MPI_IN_PLACE;
  View send, recv;
  if (const char* reason = set(state, Operation::alltoall, a, in_place ? nullptr : &send, 0, &recv, 0)) return reason;
  moves(job, Operation::alltoall, recv.bytes, in_place);
  if (!in_place) job.sends(send.times(state.p));
  job.receives(recv.times(state.p), in_place ? Kept::all : Kept::none);
  return nullptr;
}

}  // namespace omnes::interpose
