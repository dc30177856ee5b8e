// Operations with unequal parts that move data as they are.
//
// A rank knows only its own parts, so there is no count for which a rank could leave without the others, but for allgatherv.
#include "interpose/call.hpp"
#include "interpose/failure.hpp"
#include "interpose/parted.hpp"
#include "interpose/run.hpp"

namespace omnes {

namespace {

constexpr const char* invalid_root = "invalid root";
bool valid(int root, const State& state) { return root >= 0 && root < state.p; }

void check_equal(std::size_t send_bytes, std::size_t recv_bytes) {
  if (send_bytes != recv_bytes) throw Failure{MPI_ERR_TRUNCATE};
}

Call moving(Operation operation, bool in_place, int root = 0) {
  Call call;
  call.operation = operation;
  call.root = root;
  call.in_place = in_place;
  return call;
}

}  // namespace

const char* gatherv(State& state, const Exchange& own_arguments, const Parted& parts_arguments, int root) {
  if (!valid(root, state)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && own_arguments.send == MPI_IN_PLACE;
  View own;
  PartedView parts;
  if (!in_place)
    if (const char* reason = own.set(own_arguments.send, own_arguments.send_count, own_arguments.send_type))
      return reason;
  if (at_root)
    if (const char* reason = parts.set(parts_arguments, state.p)) return reason;
  if (at_root && !in_place) check_equal(own.bytes, parts.bytes()[state.rank]);

  Call call = moving(Operation::gatherv, in_place, root);
  call.count = in_place ? parts.bytes()[state.rank] : own.bytes;
  if (!in_place) call.send = own.packed(state.staging[0]);
  std::byte* landed = nullptr;
  if (at_root) {
    call.recv_counts = parts.bytes();
    call.recv = landed = parts.landing(state.staging[1]);
    if (in_place) parts.keep(state.rank, landed);
  }
  run(state, call);
  if (at_root) parts.land(landed);
  return nullptr;
}

const char* scatterv(State& state, const Parted& parts_arguments, const Exchange& own_arguments, int root) {
  if (!valid(root, state)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && own_arguments.recv == MPI_IN_PLACE;
  View own;
  PartedView parts;
  if (at_root)
    if (const char* reason = parts.set(parts_arguments, state.p)) return reason;
  if (!in_place)
    if (const char* reason = own.set(own_arguments.recv, own_arguments.recv_count, own_arguments.recv_type))
      return reason;
  if (at_root && !in_place) check_equal(parts.bytes()[state.rank], own.bytes);

  Call call = moving(Operation::scatterv, in_place, root);
  call.count = in_place ? 0 : own.bytes;
  if (at_root) {
    call.send_counts = parts.bytes();
    call.send = parts.packed(state.staging[0]);
  }
  std::byte* landed = in_place ? nullptr : own.landing(state.staging[1]);
  call.recv = landed;
  run(state, call);
  if (!in_place) own.land(landed);
  return nullptr;
}

const char* allgatherv(State& state, const Exchange& own_arguments, const Parted& parts_arguments) {
  const bool in_place = own_arguments.send == MPI_IN_PLACE;
  View own;
  PartedView parts;
  if (!in_place)
    if (const char* reason = own.set(own_arguments.send, own_arguments.send_count, own_arguments.send_type))
      return reason;
  if (const char* reason = parts.set(parts_arguments, state.p)) return reason;
  if (!in_place) check_equal(own.bytes, parts.bytes()[state.rank]);
  if (parts.total() == 0) return nullptr;

  Call call = moving(Operation::allgatherv, in_place);
  call.count = parts.bytes()[state.rank];
  call.recv_counts = parts.bytes();
  if (!in_place) call.send = own.packed(state.staging[0]);
  std::byte* const landed = parts.landing(state.staging[1]);
  if (in_place) parts.keep(state.rank, landed);
  call.recv = landed;
  run(state, call);
  parts.land(landed);
  return nullptr;
}

const char* alltoallv(State& state, Operation operation, const Parted& send_arguments, const Parted& recv_arguments) {
  const bool in_place = send_arguments.buffer == MPI_IN_PLACE;
  PartedView send, recv;
  if (!in_place)
    if (const char* reason = send.set(send_arguments, state.p)) return reason;
  if (const char* reason = recv.set(recv_arguments, state.p)) return reason;
  if (!in_place) check_equal(send.bytes()[state.rank], recv.bytes()[state.rank]);

  Call call = moving(operation, in_place);
  call.send_counts = send.bytes();
  call.recv_counts = recv.bytes();
  if (!in_place) call.send = send.packed(state.staging[0]);
  std::byte* const landed = recv.landing(state.staging[1]);
  for (int i = 0; in_place && i < state.p; ++i) recv.keep(i, landed);
  call.recv = landed;
  run(state, call);
  recv.land(landed);
  return nullptr;
}

}  // namespace omnes
