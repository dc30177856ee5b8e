// Reduce and Allreduce.
//
// Predefined types are combined where they lie. Elements of derived types with gaps are copied as they lie in memory,
// gaps included, so that the program's own function finds them as it expects; only the data themselves are written
// back, by packing and unpacking the result.
#include <cstring>

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
    if (result) call.recv = state.staging[1].room(bytes);
  }
  run(state, call);
  if (!result) return;
  std::byte* packed = state.staging[2].room(result->bytes);
  pack_spread(*result, op, static_cast<std::byte*>(call.recv), packed);
  result->unpack(packed);
}

const char* reduce_or_allreduce(State& state, Operation operation, int root, const void* send, void* recv,
                                MPI_Count count, MPI_Datatype type, MPI_Op wanted) {
  const bool receives = operation == Operation::allreduce || state.rank == root;
  // Equal buffers are an error that not every host reports; what programs mean by them is this.
  const bool in_place = receives && (send == MPI_IN_PLACE || send == recv);
  View own, result;
  if (const char* reason = own.set(in_place ? recv : send, count, type)) return reason;
  if (receives)
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
    run_spread(state, call, own, receives ? &result : nullptr, op);
    return nullptr;
  }
  if (!in_place) call.send = send;
  if (receives) call.recv = recv;
  run(state, call);
  return nullptr;
}

}  // namespace

const char* reduce(State& state, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   int root) {
  if (root < 0 || root >= state.p) return "invalid root";
  return reduce_or_allreduce(state, Operation::reduce, root, send, recv, count, type, op);
}

const char* allreduce(State& state, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  return reduce_or_allreduce(state, Operation::allreduce, 0, send, recv, count, type, op);
}

}  // namespace omnes
