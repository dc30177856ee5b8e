// The questions, one for each operation.
#include "interpose/describe/aliases.hpp"

#include <algorithm>
#include <mutex>

#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"

namespace omnes::interpose {

const char* refuse_alias(Operation operation, const View& data, MPI_Op op) {
  if constexpr (simulated) return nullptr;  // all ranks are one thread
  constexpr std::size_t enough = 2;         // elements: hosts ask for one or for more than one
  const int n = static_cast<int>(std::min(data.count, enough)), at = 0;
  std::byte* const b = data.address;
  const MPI_Datatype t = data.type;
  const MPI_Comm self = process().self;
  static auto& mutex = *new std::mutex;  // one thread at a time may be in a collective of a communicator
  const std::lock_guard lock(mutex);
  const int code = [&]() -> int {
    switch (operation) {
      case Operation::reduce: return host.Reduce(b, b, n, t, op, 0, self);
      case Operation::allreduce: return host.Allreduce(b, b, n, t, op, self);
      case Operation::scan: return host.Scan(b, b, n, t, op, self);
      case Operation::exscan: return host.Exscan(b, b, n, t, op, self);
      case Operation::reduce_scatter_block: return host.Reduce_scatter_block(b, b, n, t, op, self);
      case Operation::reduce_scatter: return host.Reduce_scatter(b, b, &n, t, op, self);
      case Operation::gather: return host.Gather(b, n, t, b, n, t, 0, self);
      case Operation::scatter: return host.Scatter(b, n, t, b, n, t, 0, self);
      case Operation::allgather: return host.Allgather(b, n, t, b, n, t, self);
      case Operation::alltoall: return host.Alltoall(b, n, t, b, n, t, self);
      case Operation::gatherv: return host.Gatherv(b, n, t, b, &n, &at, t, 0, self);
      case Operation::scatterv: return host.Scatterv(b, &n, &at, t, b, n, t, 0, self);
      case Operation::allgatherv: return host.Allgatherv(b, n, t, b, &n, &at, t, self);
      case Operation::alltoallv: return host.Alltoallv(b, &n, &at, t, b, &n, &at, t, self);
      case Operation::alltoallw: return host.Alltoallw(b, &n, &at, &t, b, &n, &at, &t, self);
      default: return MPI_SUCCESS;  // no host looks at those along topologies
    }
  }();
  if (code == MPI_SUCCESS) return nullptr;
  // Open MPI has now called the handler of MPI_COMM_WORLD, as it does for every communicator.
  if (built_for == Family::ompi && operation == Operation::allreduce) throw Failure{code, true};
  return aliased_buffers;
}

}  // namespace omnes::interpose
