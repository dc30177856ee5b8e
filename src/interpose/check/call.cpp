// What MPI says about each operation's arguments.
#include "interpose/check/call.hpp"

#include <algorithm>

namespace omnes::interpose {

using check::Call;
using check::Side;
using Match = check::Call::Match;

namespace check {

bool Side::has(int part) const { return !only || std::ranges::find(*only, part) != only->end(); }

std::byte* Side::address_of(int part) const {
  MPI_Aint lb = 0, extent = 1;
  if (!types) host.Type_get_extent(type, &lb, &extent);
  const MPI_Aint elements = displacements ? static_cast<MPI_Aint>(displacements[part])
                                          : static_cast<MPI_Aint>(part) * static_cast<MPI_Aint>(count);
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                      static_cast<std::uintptr_t>(elements * extent));
}

namespace {

Side lone(const void* buffer, MPI_Count count, MPI_Datatype type, int parts = 1) {
  return {.buffer = buffer, .parts = parts, .count = count, .type = type};
}
Side sent(const Exchange& a, int parts = 1) { return lone(a.send, a.send_count, a.send_type, parts); }
Side received(const Exchange& a, int parts = 1) { return lone(a.recv, a.recv_count, a.recv_type, parts); }
Side listed(const Parted& a, int parts) {
  if (!a.counts || !a.displacements) return {};
  return {.buffer = a.buffer,
          .parts = parts,
          .counts = a.counts,
          .displacements = a.displacements,
          .type = a.type,
          .types = a.types};
}

const char* combines(Call& call, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     bool has_result = true) {
  call.match = Match::all;
  call.whole = signature(count, type);
  call.op = op;
  call.reduces = true;
  call.in_place = send == MPI_IN_PLACE;
  if (!call.in_place) call.send = lone(send, count, type);
  if (has_result)
    call.recv = lone(recv, count, type);
  else if (call.in_place)
    call.send = lone(recv, count, type);
  return nullptr;
}

const char* moves_equal(Call& call, const Exchange& a, int send_parts, int recv_parts) {
  call.match = Match::all;
  call.in_place = a.send == MPI_IN_PLACE;
  call.whole = signature(a.recv_count, a.recv_type);
  if (!call.in_place) call.send = sent(a, send_parts);
  call.recv = received(a, recv_parts);
  return nullptr;
}

/// Between groups: each gets what the other sends.
const char* exchanges(Call& call, Side send, Side recv) {
  call.match = Match::pairs;
  call.send = send;
  call.recv = recv;
  return nullptr;
}

/// Of an operation with a root: what a rank is in it.
struct Role {
  bool is_root = false;
  bool sends_or_receives = true;  ///< with the root
};

/// Sets the root among all ranks.
Role role(const State& state, Call& call, int root) {
  if (state.first_group == 0) {
    call.root = root;
    return {root == state.rank};
  }
  const Range remote = state.remote_group();
  const bool is_remote = root >= 0 && root < remote.count;
  call.root = root == MPI_ROOT        ? state.rank
              : root == MPI_PROC_NULL ? Notice::beside_root
              : is_remote             ? remote.first + root
                                      : Notice::no_root;
  return {root == MPI_ROOT, is_remote};
}

Side along(Side side, const std::vector<int>& places) {
  side.only = &places;
  return side;
}

}  // namespace

}  // namespace check

const char* barrier(State&, Call&) { return nullptr; }

const char* bcast(State& state, Call& call, void* buffer, MPI_Count count, MPI_Datatype type, int root) {
  const auto [at_root, with_root] = check::role(state, call, root);
  if (!at_root && !with_root) return nullptr;
  call.match = Match::all;
  call.whole = check::signature(count, type);
  (at_root ? call.send : call.recv) = check::lone(buffer, count, type);
  return nullptr;
}

const char* reduce(State& state, Call& call, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                   MPI_Op op, int root) {
  const auto [at_root, with_root] = check::role(state, call, root);
  if (!at_root && !with_root) return nullptr;
  check::combines(call, send, recv, count, type, op, at_root);
  if (!with_root) call.send = {};
  return nullptr;
}

const char* allreduce(State&, Call& call, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  return check::combines(call, send, recv, count, type, op);
}

const char* scan(State&, Call& call, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  return check::combines(call, send, recv, count, type, op);
}

const char* exscan(State& state, Call& call, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                   MPI_Op op) {
  return check::combines(call, send, recv, count, type, op, state.rank != 0);
}

const char* reduce_scatter_block(State& state, Call& call, const void* send, void* recv, MPI_Count count,
                                 MPI_Datatype type, MPI_Op op) {
  const int parts = state.own_group().count;
  check::combines(call, send, recv, count, type, op);
  if (state.first_group > 0) call.whole = call.whole.times(static_cast<std::uint64_t>(parts));
  if (!call.in_place) call.send.parts = parts;
  return nullptr;
}

const char* reduce_scatter(State& state, Call& call, const void* send, void* recv, Integers counts, MPI_Datatype type,
                           MPI_Op op) {
  const Range own = state.own_group();
  check::combines(call, send, recv, 0, type, op);
  MPI_Count all = 0;
  std::uint64_t order = 0;  // the same elements in other parts are another call
  for (int r = 0; counts && r < own.count; ++r) {
    all += counts[r];
    order = (order + static_cast<std::uint64_t>(counts[r]) + 1) * 0x9E3779B97F4A7C15u;
  }
  call.whole = check::signature(all, type);
  call.order = order;
  call.counts = counts;
  if (!call.in_place) call.send.count = all;
  call.recv.count = counts ? counts[state.rank - own.first] : 0;
  return nullptr;
}

const char* gather(State& state, Call& call, const Exchange& a, int root) {
  const auto [at_root, with_root] = check::role(state, call, root);
  if (!at_root && !with_root) return nullptr;
  call.match = Match::all;
  call.in_place = at_root && a.send == MPI_IN_PLACE;
  call.whole = at_root ? check::signature(a.recv_count, a.recv_type) : check::signature(a.send_count, a.send_type);
  if (with_root && !call.in_place) call.send = check::sent(a);
  if (at_root) call.recv = check::received(a, state.remote_group().count);
  return nullptr;
}

const char* scatter(State& state, Call& call, const Exchange& a, int root) {
  const auto [at_root, with_root] = check::role(state, call, root);
  if (!at_root && !with_root) return nullptr;
  call.match = Match::all;
  call.in_place = at_root && a.recv == MPI_IN_PLACE;
  call.whole = at_root ? check::signature(a.send_count, a.send_type) : check::signature(a.recv_count, a.recv_type);
  if (at_root) call.send = check::sent(a, state.remote_group().count);
  if (with_root && !call.in_place) call.recv = check::received(a);
  return nullptr;
}

const char* allgather(State& state, Call& call, const Exchange& a) {
  if (state.first_group > 0)
    return check::exchanges(call, check::sent(a), check::received(a, state.remote_group().count));
  return check::moves_equal(call, a, 1, state.p);
}

const char* alltoall(State& state, Call& call, const Exchange& a) {
  const int parts = state.remote_group().count;
  if (state.first_group > 0) return check::exchanges(call, check::sent(a, parts), check::received(a, parts));
  return check::moves_equal(call, a, parts, parts);
}

const char* gatherv(State& state, Call& call, const Exchange& own, const Parted& parts, int root) {
  const auto [at_root, with_root] = check::role(state, call, root);
  if (!at_root && !with_root) return nullptr;
  call.match = Match::root;
  call.in_place = at_root && own.send == MPI_IN_PLACE;
  if (with_root && !call.in_place) call.send = check::sent(own);
  if (at_root) call.recv = check::listed(parts, state.remote_group().count);
  return nullptr;
}

const char* scatterv(State& state, Call& call, const Parted& parts, const Exchange& own, int root) {
  const auto [at_root, with_root] = check::role(state, call, root);
  if (!at_root && !with_root) return nullptr;
  call.match = Match::root;
  call.sends_parts = true;
  call.in_place = at_root && own.recv == MPI_IN_PLACE;
  if (at_root) call.send = check::listed(parts, state.remote_group().count);
  if (with_root && !call.in_place) call.recv = check::received(own);
  return nullptr;
}

const char* allgatherv(State& state, Call& call, const Exchange& own, const Parted& parts) {
  if (state.first_group > 0)
    return check::exchanges(call, check::sent(own), check::listed(parts, state.remote_group().count));
  call.match = Match::all;
  call.in_place = own.send == MPI_IN_PLACE;
  if (!call.in_place) call.send = check::sent(own);
  call.recv = check::listed(parts, state.p);
  std::uint64_t order = 0;
  for (int r = 0; r < call.recv.parts; ++r) {
    const check::Signature part = call.recv.signature_of(r);
    call.whole = call.whole + part;
    order = (order + part.bytes + 1) * 0x9E3779B97F4A7C15u;
  }
  call.order = order;
  return nullptr;
}

const char* alltoallv(State& state, Call& call, Operation, const Parted& send, const Parted& recv) {
  const int parts = state.remote_group().count;
  call.match = Match::pairs;
  call.in_place = send.buffer == MPI_IN_PLACE;
  if (!call.in_place) call.send = check::listed(send, parts);
  call.recv = check::listed(recv, parts);
  return nullptr;
}

const char* neighbor_allgather(State& state, Call& call, MPI_Comm comm, const Exchange& a) {
  const Edges* const edges = state.edges_on(comm);
  if (!edges) return nullptr;
  call.send = check::sent(a);
  call.recv = check::along(check::received(a, edges->sources), edges->source_places);
  return nullptr;
}

const char* neighbor_allgatherv(State& state, Call& call, MPI_Comm comm, const Exchange& own, const Parted& parts) {
  const Edges* const edges = state.edges_on(comm);
  if (!edges) return nullptr;
  call.send = check::sent(own);
  call.recv = check::along(check::listed(parts, edges->sources), edges->source_places);
  return nullptr;
}

const char* neighbor_alltoall(State& state, Call& call, MPI_Comm comm, const Exchange& a) {
  const Edges* const edges = state.edges_on(comm);
  if (!edges) return nullptr;
  call.send = check::along(check::sent(a, edges->destinations), edges->destination_places);
  call.recv = check::along(check::received(a, edges->sources), edges->source_places);
  return nullptr;
}

const char* neighbor_alltoallv(State& state, Call& call, MPI_Comm comm, Operation, const Parted& send,
                               const Parted& recv) {
  const Edges* const edges = state.edges_on(comm);
  if (!edges) return nullptr;
  call.send = check::along(check::listed(send, edges->destinations), edges->destination_places);
  call.recv = check::along(check::listed(recv, edges->sources), edges->source_places);
  return nullptr;
}

}  // namespace omnes::interpose
