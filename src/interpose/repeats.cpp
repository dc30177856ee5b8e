// Which calls are kept, and as what.
#include "interpose/repeats.hpp"

#include "interpose/job.hpp"

namespace omnes::interpose {

bool Repeats::describe(Repeat& repeat, const std::shared_ptr<Prepared>& prepared, const Job& job, const void* send,
                       const void* recv, bool has_arrays) {
  const Call& call = job.call;
  // Arrays of the neighborhoods have as many elements as the rank has neighbors, not p.
  if (call.neighbors && has_arrays) return false;
  // The counts of reduce_scatter are those of what is sent, though they come last.
  repeat.reads_sent = !call.send_counts.empty();
  repeat.reads_received = !call.recv_counts.empty() || call.operation == Operation::reduce_scatter;
  if (prepared->choice.host) {
    // Where ranks do not know all parts, nothing but the team drives the choice.
    if (!knows_parts(call.operation)) left_ |= std::uint32_t{1} << static_cast<int>(call.operation);
  } else {
    if (!job.is_straight() || prepared->needs_all_counts) return false;
    repeat.send = {call.send, send};
    repeat.recv = {call.recv, recv};
    repeat.op = job.op;
    if (repeat.op.reduction.context != nullptr) repeat.op.reduction.context = &repeat.op;
  }
  repeat.prepared = prepared;
  return true;
}

}  // namespace omnes::interpose
