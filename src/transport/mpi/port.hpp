// The host MPI's point-to-point messages as a MessagePort.
#pragma once

#include "interpose/host.hpp"
#include "runtime/port.hpp"

namespace omnes {

/// Messages on `comm`, which is nobody else's, returns errors and must live as long as the port is used.
MessagePort message_port(MPI_Comm comm);

}  // namespace omnes
