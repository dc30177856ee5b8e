// Contributions that lie where their result goes, though the program does not say MPI_IN_PLACE.
//
// MPI forbids that. Hosts report it in some operations, under conditions of their own, and can be told not to. So the
// host is asked: by a call with the same buffer on a communicator of this rank alone, which at most moves the data onto
// itself. Where it complains, it shall do so about the program's call, too; what it lets pass is served.
#pragma once

#include "interpose/data/view.hpp"
#include "interpose/host/failure.hpp"
#include "schedule/schedule.hpp"

namespace omnes::interpose {

/// The reason for the host to complain.
inline constexpr char aliased_buffers[] = "aliased buffers";

/// That reason, or null; throws Failure if it has done so. `data`: what lies in both buffers; `op`: of a reduction.
const char* refuse_alias(Operation operation, const View& data, MPI_Op op = handles.op_null);

/// The same for what this rank sends to itself, if it lies where it goes. (Of types with gaps hosts compare other places.)
/// Throws Failure, too, if it is not as long as what it receives from itself.
inline const char* check_own_part(Operation operation, const View& send, const View& recv) {
  if (send.bytes != recv.bytes) throw Failure{MPI_ERR_TRUNCATE};
  const bool same = send.address == recv.address && send.address != nullptr && send.count == recv.count &&
                    send.count > 0 && send.type == recv.type && send.contiguous();
  return same ? refuse_alias(operation, send) : nullptr;
}

}  // namespace omnes::interpose
