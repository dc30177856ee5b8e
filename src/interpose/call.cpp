// Operations that move data as they are. Reductions are in reduce.cpp.
#include "interpose/call.hpp"

#include "interpose/failure.hpp"
#include "interpose/formation.hpp"
#include "interpose/run.hpp"
#include "interpose/view.hpp"

namespace omnes {

namespace {

/// Both views describe the same data, one as this rank sends them and one as it receives them.
void check_equal(const View& send, const View& recv) {
  if (send.bytes != recv.bytes) throw Failure{MPI_ERR_TRUNCATE};
}

/// A call that moves so many bytes per part. All ranks know the bytes alike, but not the elements that they are made
/// of.
Call moving(Operation operation, std::size_t bytes, bool in_place, int root = 0) {
  Call call;
  call.operation = operation;
  call.root = root;
  call.in_place = in_place;
  call.count = bytes;
  return call;
}

bool valid(int root, const State& state) { return root >= 0 && root < state.p; }
constexpr const char* invalid_root = "invalid root";

/// Where each rank's part lands, the own one already in it when in place.
std::byte* landing_with_own(const View& part, State& state, bool in_place) {
  std::byte* landed = part.times(state.p).landing(state.staging[1]);
  if (in_place && !part.contiguous())
    part.part(state.rank).pack(landed + static_cast<std::size_t>(state.rank) * part.bytes);
  return landed;
}

}  // namespace

const char* barrier(State& state) {
  run(state, Call{});
  // Programs with windows expect that what was sent before a barrier has arrived after it.
  poke(nullptr);
  return nullptr;
}

const char* bcast(State& state, void* buffer, MPI_Count count, MPI_Datatype type, int root) {
  if (!valid(root, state)) return invalid_root;
  View data;
  if (const char* reason = data.set(buffer, count, type)) return reason;
  if (data.bytes == 0) return nullptr;
  Call call = moving(Operation::bcast, data.bytes, false, root);
  const bool at_root = state.rank == root;
  call.recv = at_root ? const_cast<std::byte*>(data.packed(state.staging[0])) : data.landing(state.staging[0]);
  run(state, call);
  if (!at_root) data.land(static_cast<std::byte*>(call.recv));
  return nullptr;
}

const char* gather(State& state, const Exchange& a, int root) {
  if (!valid(root, state)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && a.send == MPI_IN_PLACE;
  View own, part;
  if (!in_place)
    if (const char* reason = own.set(a.send, a.send_count, a.send_type)) return reason;
  if (at_root)
    if (const char* reason = part.set(a.recv, a.recv_count, a.recv_type)) return reason;
  if (at_root && !in_place) check_equal(own, part);

  Call call = moving(Operation::gather, at_root ? part.bytes : own.bytes, in_place, root);
  if (call.count == 0) return nullptr;
  if (!in_place) call.send = own.packed(state.staging[0]);
  if (at_root) call.recv = landing_with_own(part, state, in_place);
  run(state, call);
  if (at_root) part.times(state.p).land(static_cast<std::byte*>(call.recv));
  return nullptr;
}

const char* scatter(State& state, const Exchange& a, int root) {
  if (!valid(root, state)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && a.recv == MPI_IN_PLACE;
  View part, own;
  if (at_root)
    if (const char* reason = part.set(a.send, a.send_count, a.send_type)) return reason;
  if (!in_place)
    if (const char* reason = own.set(a.recv, a.recv_count, a.recv_type)) return reason;
  if (at_root && !in_place) check_equal(part, own);

  Call call = moving(Operation::scatter, at_root ? part.bytes : own.bytes, in_place, root);
  if (call.count == 0) return nullptr;
  if (at_root) call.send = part.times(state.p).packed(state.staging[0]);
  if (!in_place) call.recv = own.landing(state.staging[1]);
  run(state, call);
  if (!in_place) own.land(static_cast<std::byte*>(call.recv));
  return nullptr;
}

const char* allgather(State& state, const Exchange& a) {
  const bool in_place = a.send == MPI_IN_PLACE;
  View own, part;
  if (!in_place)
    if (const char* reason = own.set(a.send, a.send_count, a.send_type)) return reason;
  if (const char* reason = part.set(a.recv, a.recv_count, a.recv_type)) return reason;
  if (!in_place) check_equal(own, part);

  Call call = moving(Operation::allgather, part.bytes, in_place);
  if (call.count == 0) return nullptr;
  if (!in_place) call.send = own.packed(state.staging[0]);
  call.recv = landing_with_own(part, state, in_place);
  run(state, call);
  part.times(state.p).land(static_cast<std::byte*>(call.recv));
  return nullptr;
}

const char* alltoall(State& state, const Exchange& a) {
  const bool in_place = a.send == MPI_IN_PLACE;
  View send, recv;
  if (!in_place)
    if (const char* reason = send.set(a.send, a.send_count, a.send_type)) return reason;
  if (const char* reason = recv.set(a.recv, a.recv_count, a.recv_type)) return reason;
  if (!in_place) check_equal(send, recv);

  Call call = moving(Operation::alltoall, recv.bytes, in_place);
  if (call.count == 0) return nullptr;
  const View all = recv.times(state.p);
  if (!in_place) call.send = send.times(state.p).packed(state.staging[0]);
  std::byte* landed = all.landing(state.staging[1]);
  if (in_place && !all.contiguous()) all.pack(landed);
  call.recv = landed;
  run(state, call);
  all.land(landed);
  return nullptr;
}

}  // namespace omnes
