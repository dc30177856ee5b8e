// Operations that combine. Predefined types in the host's memory are combined where they lie; spread.hpp has what happens to others.
#include <numeric>
#include <vector>

#include "interpose/data/spread.hpp"
#include "interpose/describe/aliases.hpp"
#include "interpose/describe/between.hpp"
#include "interpose/describe/describe.hpp"

namespace omnes::interpose {

namespace {

/// Whether this rank gets a result.
bool receives(Operation operation, int root, int rank) {
  if (operation == Operation::reduce) return rank == root;
  return operation != Operation::exscan || rank > 0;
}

/// Reduce, allreduce, scan, exscan: as many elements in the result as in the contribution.
const char* combine(State& state, Job& job, Operation operation, int root, const void* send, void* recv,
                    MPI_Count count, MPI_Datatype type, MPI_Op wanted) {
  const bool has_result = receives(operation, root, state.rank);
  // Equal buffers are an error; where the host does not report it, what programs mean by them is this.
  const bool may_be_in_place = has_result || operation == Operation::exscan;
  const bool in_place = may_be_in_place && (send == MPI_IN_PLACE || send == recv);
  View own, result;
  if (const char* reason = own.set(in_place ? recv : send, count, type)) return reason;
  if (has_result)
    if (const char* reason = result.set(recv, own)) return reason;
  if (const char* reason = job.op.set(wanted, type, *own.info)) return reason;
  if (in_place && send != MPI_IN_PLACE && own.count > 0)
    if (const char* reason = refuse_alias(operation, own, wanted)) return reason;
  job.nothing = own.bytes == 0;
  job.lands = has_result;

  Call& call = job.call;
  call.operation = operation;
  call.root = root;
  call.in_place = in_place;
  call.count = own.count;
  call.element = job.op.stride;
  call.reduction = &job.op.reduction;
  if (!straight(own) || (has_result && !straight(result))) {
    job.combines_spread(own, has_result ? &result : nullptr);
    return nullptr;
  }
  if (!in_place) call.send = send;
  if (has_result || in_place) call.recv = recv;
  return nullptr;
}

/// Reduce_scatter and its block form: job.counts are elements of each rank's part. In place, all contributions lie in `recv`, whose start gets the
/// result; schedules have no such form, so the result lands elsewhere first.
const char* combine_parts(State& state, Job& job, Operation operation, const void* send, void* recv, MPI_Datatype type,
                          MPI_Op wanted) {
  const std::vector<std::size_t>& counts = job.counts;
  const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  const bool in_place = send == MPI_IN_PLACE || send == recv;
  View own, result;
  if (const char* reason = own.set(in_place ? recv : send, static_cast<MPI_Count>(all), type)) return reason;
  const auto mine = counts[state.rank];
  if (mine > 0)
    if (const char* reason = result.set(recv, static_cast<MPI_Count>(mine), type)) return reason;
  if (const char* reason = job.op.set(wanted, type, *own.info)) return reason;
  if (in_place && send != MPI_IN_PLACE && own.count > 0)
    if (const char* reason = refuse_alias(operation, own, wanted)) return reason;
  job.nothing = own.bytes == 0;

  Call& call = job.call;
  call.operation = operation;
  call.count = mine;
  call.element = job.op.stride;
  call.reduction = &job.op.reduction;
  if (operation == Operation::reduce_scatter) call.send_counts = job.counts;
  if (!straight(own) || (mine > 0 && !straight(result))) {
    result.resize(mine);
    job.combines_spread(own, &result);
    return nullptr;
  }
  call.send = in_place ? recv : send;
  if (in_place) {
    job.combines_in_place(recv, mine * job.op.stride);
  } else {
    call.recv = recv;
  }
  return nullptr;
}

}  // namespace

const char* reduce(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   int root) {
  if (state.first_group > 0) return between::reduce(state, job, send, recv, count, type, op, root);
  if (!state.has(root)) return invalid_root;
  return combine(state, job, Operation::reduce, root, send, recv, count, type, op);
}

const char* allreduce(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                      MPI_Op op) {
  if (state.first_group > 0) return between::allreduce(state, job, send, recv, count, type, op);
  return combine(state, job, Operation::allreduce, 0, send, recv, count, type, op);
}

const char* scan(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (state.first_group > 0) return between::none;
  return combine(state, job, Operation::scan, 0, send, recv, count, type, op);
}

const char* exscan(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                   MPI_Op op) {
  if (state.first_group > 0) return between::none;
  return combine(state, job, Operation::exscan, 0, send, recv, count, type, op);
}

const char* reduce_scatter_block(State& state, Job& job, const void* send, void* recv, MPI_Count count,
                                 MPI_Datatype type, MPI_Op op) {
  if (count < 0) return negative_count;
  job.counts.assign(state.own_group().count, static_cast<std::size_t>(count));
  if (state.first_group > 0) return between::reduce_scatter(state, job, send, recv, type, op);
  return combine_parts(state, job, Operation::reduce_scatter_block, send, recv, type, op);
}

const char* reduce_scatter(State& state, Job& job, const void* send, void* recv, Integers counts, MPI_Datatype type,
                           MPI_Op op) {
  if (!counts) return "null counts";
  job.counts.resize(state.own_group().count);
  for (int r = 0; r < state.own_group().count; ++r) {
    if (counts[r] < 0) return negative_count;
    job.counts[r] = static_cast<std::size_t>(counts[r]);
  }
  if (state.first_group > 0) return between::reduce_scatter(state, job, send, recv, type, op);
  return combine_parts(state, job, Operation::reduce_scatter, send, recv, type, op);
}

}  // namespace omnes::interpose
