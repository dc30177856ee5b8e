// The host MPI of a simulation: SimGrid's SMPI. The program is linked with it, and this library into the program, so
// that each simulated rank has globals of its own.
#include "interpose/host/host.hpp"

namespace omnes::interpose {

Host host;
Handles handles;
constinit std::atomic<int> detours{1};

namespace {

Family find() {
#define OMNES_TAKE(name) host.name = PMPI_##name;
  OMNES_HOST_FUNCTIONS(OMNES_TAKE)
#undef OMNES_TAKE
  handles = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL, MPI_DATATYPE_NULL, MPI_BYTE,
             MPI_INT,        MPI_OP_NULL,   MPI_MIN,       MPI_REQUEST_NULL,  MPI_ERRORS_RETURN};
  return Family::smpi;
}

}  // namespace

const char* name(Family family) { return family == Family::smpi ? "smpi" : "none"; }

Wide world_of(Family) { return 0; }

Family find_host() {
  static const Family family = [] {
    const Family found = find();
    detours.fetch_sub(1, std::memory_order_release);
    return found;
  }();
  return family;
}

}  // namespace omnes::interpose
