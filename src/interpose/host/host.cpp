// The host MPI, once it is found: in host_loaded.cpp, or in host_smpi.cpp for simulations.
#include "interpose/host/host.hpp"

namespace omnes::interpose {

Host host;
Handles handles;
constinit std::atomic<int> detours{1};

const char* name(Family family) {
  switch (family) {
    case Family::ompi: return "ompi";
    case Family::mpich: return "mpich";
    case Family::abi: return "abi";
    case Family::smpi: return "smpi";
    case Family::none: break;
  }
  return "none";
}

Family find_host() {
  static const Family family = [] {
    const Family found = look_up_host();
    if (found == built_for)
      handles = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL, MPI_INFO_NULL,    MPI_DATATYPE_NULL, MPI_BYTE,
                 MPI_INT,        MPI_OP_NULL,   MPI_MIN,       MPI_REQUEST_NULL, MPI_ERRORS_RETURN};
    detours.fetch_sub(1, std::memory_order_release);
    return found;
  }();
  return family;
}

}  // namespace omnes::interpose
