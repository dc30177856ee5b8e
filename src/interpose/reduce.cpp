// Operations that combine.
//
// Predefined types are combined where they lie. Elements of derived types with gaps are copied as they lie in memory,
// gaps included, so that the program's own function finds them as it expects; only the data themselves are written
// back, by packing and unpacking the result.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "interpose/call.hpp"
#include "interpose/operators.hpp"
#include "interpose/run.hpp"
#include "interpose/view.hpp"

namespace omnes {

namespace {

/// True when the elements can be combined in the program's buffers. A pair may have a gap before or after its index:
/// nobody minds.
bool straight(const View& view) { return view.contiguous() || view.info->kind == TypeClass::pair; }

/// Copies the elements of the program's buffer to where Operator expects them.
void spread(const View& view, const Operator& op, std::byte* to) {
  const auto extent = static_cast<std::size_t>(view.info->extent);
  const auto span = static_cast<std::size_t>(view.info->true_extent);
  const std::byte* from = view.address + view.info->true_lb;
  if (op.whole) {
    std::memcpy(to + view.info->true_lb, from, (view.count - 1) * extent + span);
    return;
  }
  for (std::size_t i = 0; i < view.count; ++i) {
    std::memcpy(to, from, span);
    to += op.stride;
    from += view.info->extent;
  }
}

/// Packs elements that lie as Operator leaves them.
void pack_spread(const View& like, const Operator& op, std::byte* from, std::byte* to) {
  View view = like;
  view.address = from;
  if (op.whole) {
    view.pack(to);
    return;
  }
  view.count = 1;
  for (std::size_t i = 0; i < like.count; ++i) {
    view.address = from + i * op.stride - op.true_lb;
    view.pack(to + i * view.info->size);
  }
}

void run_spread(State& state, Call& call, const View& own, const View* result, const Operator& op) {
  const std::size_t bytes = own.count * op.stride;
  if (call.in_place) {
    call.send = nullptr;
    call.recv = state.staging[1].room(bytes);
    spread(own, op, static_cast<std::byte*>(call.recv));
  } else {
    std::byte* send = state.staging[0].room(bytes);
    spread(own, op, send);
    call.send = send;
    if (result) call.recv = state.staging[1].room(result->count * op.stride);
  }
  run(state, call);
  if (!result || result->count == 0) return;
  std::byte* packed = state.staging[2].room(result->bytes);
  pack_spread(*result, op, static_cast<std::byte*>(call.recv), packed);
  result->unpack(packed);
}

/// Whether this rank gets a result.
bool receives(Operation operation, int root, int rank) {
  if (operation == Operation::reduce) return rank == root;
  return operation != Operation::exscan || rank > 0;
}

/// Reduce, allreduce, scan, exscan: as many elements in the result as in the contribution.
const char* combine(State& state, Operation operation, int root, const void* send, void* recv, MPI_Count count,
                    MPI_Datatype type, MPI_Op wanted) {
  const bool has_result = receives(operation, root, state.rank);
  // Equal buffers are an error that not every host reports; what programs mean by them is this.
  const bool may_be_in_place = has_result || operation == Operation::exscan;
  const bool in_place = may_be_in_place && (send == MPI_IN_PLACE || send == recv);
  View own, result;
  if (const char* reason = own.set(in_place ? recv : send, count, type)) return reason;
  if (has_result)
    if (const char* reason = result.set(recv, own)) return reason;
  Operator op;
  if (const char* reason = op.set(wanted, type, *own.info)) return reason;
  if (own.bytes == 0) return nullptr;

  Call call;
  call.operation = operation;
  call.root = root;
  call.in_place = in_place;
  call.count = own.count;
  call.element = op.stride;
  call.reduction = &op.reduction;
  if (!straight(own)) {
    run_spread(state, call, own, has_result ? &result : nullptr, op);
    return nullptr;
  }
  if (!in_place) call.send = send;
  if (has_result || in_place) call.recv = recv;
  run(state, call);
  return nullptr;
}

/// Reduce_scatter and its block form: `counts` are elements of each rank's part. In place, all contributions lie in `recv`, whose start gets the
/// result; schedules have no such form, so the result lands elsewhere first.
const char* combine_parts(State& state, Operation operation, const void* send, void* recv,
                          const std::vector<std::size_t>& counts, MPI_Datatype type, MPI_Op wanted) {
  const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  const bool in_place = send == MPI_IN_PLACE || send == recv;
  View own, result;
  if (const char* reason = own.set(in_place ? recv : send, static_cast<MPI_Count>(all), type)) return reason;
  const auto mine = counts[state.rank];
  if (mine > 0)
    if (const char* reason = result.set(recv, static_cast<MPI_Count>(mine), type)) return reason;
  Operator op;
  if (const char* reason = op.set(wanted, type, *own.info)) return reason;
  if (own.bytes == 0) return nullptr;

  Call call;
  call.operation = operation;
  call.count = mine;
  call.element = op.stride;
  call.reduction = &op.reduction;
  if (operation == Operation::reduce_scatter) call.send_counts = counts;
  if (!straight(own)) {
    result.count = mine;
    run_spread(state, call, own, &result, op);
    return nullptr;
  }
  call.send = in_place ? recv : send;
  call.recv = in_place ? state.staging[1].room(std::max<std::size_t>(mine * op.stride, 1)) : recv;
  run(state, call);
  if (in_place && mine > 0) std::memcpy(recv, call.recv, mine * op.stride);
  return nullptr;
}

}  // namespace

const char* reduce(State& state, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   int root) {
  if (root < 0 || root >= state.p) return "invalid root";
  return combine(state, Operation::reduce, root, send, recv, count, type, op);
}

const char* allreduce(State& state, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  return combine(state, Operation::allreduce, 0, send, recv, count, type, op);
}

const char* scan(State& state, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  return combine(state, Operation::scan, 0, send, recv, count, type, op);
}

const char* exscan(State& state, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  return combine(state, Operation::exscan, 0, send, recv, count, type, op);
}

const char* reduce_scatter_block(State& state, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                                 MPI_Op op) {
  if (count < 0) return "negative count";
  const std::vector<std::size_t> counts(state.p, static_cast<std::size_t>(count));
  return combine_parts(state, Operation::reduce_scatter_block, send, recv, counts, type, op);
}

const char* reduce_scatter(State& state, const void* send, void* recv, Integers counts, MPI_Datatype type, MPI_Op op) {
  if (!counts) return "null counts";
  std::vector<std::size_t> all(state.p);
  for (int r = 0; r < state.p; ++r) {
    if (counts[r] < 0) return "negative count";
    all[r] = static_cast<std::size_t>(counts[r]);
  }
  return combine_parts(state, Operation::reduce_scatter, send, recv, all, type, op);
}

}  // namespace omnes
