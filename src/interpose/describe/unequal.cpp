// Operations with unequal parts that move data as they are.
//
// A rank knows only its own parts, so there is no count for which a rank could leave without the others, except in
// allgatherv.
#include <vector>

#include "interpose/describe/aliases.hpp"
#include "interpose/describe/between.hpp"
#include "interpose/describe/describe.hpp"
#include "interpose/host/failure.hpp"

namespace omnes::interpose {

namespace {

using Kept = Job::Kept;

/// The same buffer is to be sent and received.
const char* check_whole(Operation operation, const void* buffer) {
  View first;
  if (buffer == nullptr || first.set(buffer, 1, handles.byte) != nullptr) return nullptr;
  return refuse_alias(operation, first);
}

/// The same parts, but for the count of one.
const char* set_with(PartedView& parts, const Parted& arguments, int p, int part, std::size_t count) {
  std::vector<long> counts(p);
  for (int i = 0; i < p; ++i) counts[i] = i == part ? static_cast<long>(count) : arguments.counts[i];
  Parted changed = arguments;
  changed.counts = counts.data();
  parts = {};
  return parts.set(changed, p);
}

}  // namespace

const char* gatherv(State& state, Job& job, const Exchange& own_arguments, const Parted& parts_arguments, int root) {
  if (state.first_group > 0) return between::gatherv(state, job, own_arguments, parts_arguments, root);
  if (!state.has(root)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && own_arguments.send == MPI_IN_PLACE;
  View own;
  PartedView parts;
  if (!in_place)
    if (const char* reason = own.set(own_arguments.send, own_arguments.send_count, own_arguments.send_type))
      return reason;
  if (at_root)
    if (const char* reason = parts.set(parts_arguments, state.p)) return reason;
  if (at_root && !in_place) {
    if (const auto fewer = fewer_elements(own.bytes, parts.views()[state.rank])) {
      if (const char* reason = set_with(parts, parts_arguments, state.p, state.rank, *fewer)) return reason;
      own.apart = true;  // no call whose counts are others is like this one
    }
    if (const char* reason = check_own_part(Operation::gatherv, own, parts.views()[state.rank])) return reason;
    set_apart(own, parts.views()[state.rank], parts.views());
  }

  job.moves(Operation::gatherv, in_place ? parts.bytes()[state.rank] : own.bytes, in_place, root);
  if (!in_place) job.sends(own);
  if (at_root) job.receives(std::move(parts), in_place ? Kept::own : Kept::none, state.rank);
  return nullptr;
}

const char* scatterv(State& state, Job& job, const Parted& parts_arguments, const Exchange& own_arguments, int root) {
  if (state.first_group > 0) return between::scatterv(state, job, parts_arguments, own_arguments, root);
  if (!state.has(root)) return invalid_root;
  const bool at_root = state.rank == root;
  const bool in_place = at_root && own_arguments.recv == MPI_IN_PLACE;
  View own;
  PartedView parts;
  if (at_root)
    if (const char* reason = parts.set(parts_arguments, state.p)) return reason;
  if (!in_place)
    if (const char* reason = own.set(own_arguments.recv, own_arguments.recv_count, own_arguments.recv_type))
      return reason;
  if (at_root && !in_place) {
    if (const auto fewer = fewer_elements(parts.bytes()[state.rank], own)) {
      own.resize(*fewer);
      own.apart = true;  // as in a gatherv
    }
    if (const char* reason = check_own_part(Operation::scatterv, parts.views()[state.rank], own)) return reason;
    set_apart(own, parts.views()[state.rank], parts.views());
  }

  job.moves(Operation::scatterv, in_place ? 0 : own.bytes, in_place, root);
  if (at_root) job.sends(std::move(parts));
  if (!in_place) job.receives(own);
  return nullptr;
}

const char* allgatherv(State& state, Job& job, const Exchange& own_arguments, const Parted& parts_arguments) {
  if (state.first_group > 0) return between::allgatherv(state, job, own_arguments, parts_arguments);
  const bool in_place = own_arguments.send == MPI_IN_PLACE;
  View own;
  PartedView parts;
  if (!in_place)
    if (const char* reason = own.set(own_arguments.send, own_arguments.send_count, own_arguments.send_type))
      return reason;
  if (const char* reason = parts.set(parts_arguments, state.p)) return reason;
  if (!in_place) {
    if (const char* reason = check_own_part(Operation::allgatherv, own, parts.views()[state.rank])) return reason;
    set_apart(own, parts.views()[state.rank], parts.views());
  }

  job.moves(Operation::allgatherv, parts.bytes()[state.rank], in_place);
  job.nothing = parts.total() == 0;
  if (!in_place) job.sends(own);
  job.receives(std::move(parts), in_place ? Kept::own : Kept::none, state.rank);
  return nullptr;
}

const char* alltoallv(State& state, Job& job, Operation operation, const Parted& send_arguments,
                      const Parted& recv_arguments) {
  if (state.first_group > 0) return between::alltoallv(state, job, operation, send_arguments, recv_arguments);
  const bool in_place = send_arguments.buffer == MPI_IN_PLACE;
  PartedView send, recv;
  if (!in_place)
    if (const char* reason = send.set(send_arguments, state.p)) return reason;
  if (const char* reason = recv.set(recv_arguments, state.p)) return reason;
  if (!in_place) {
    if (send.bytes()[state.rank] != recv.bytes()[state.rank]) throw Failure{MPI_ERR_TRUNCATE};
    if (send_arguments.same_parts(recv_arguments))
      if (const char* reason = check_whole(operation, recv_arguments.buffer)) return reason;
  }

  job.moves(operation, 0, in_place);
  if (!in_place) job.sends(std::move(send));
  job.receives(std::move(recv), in_place ? Kept::all : Kept::none);
  return nullptr;
}

}  // namespace omnes::interpose
