// The host MPI of a simulation: SimGrid's SMPI. The program is linked with it, and this library into the program, so
// that each simulated rank has globals of its own.
#include "interpose/host/host.hpp"

namespace omnes::interpose {

Family look_up_host() {
#define OMNES_TAKE(name) host.name = PMPI_##name;
  OMNES_HOST_FUNCTIONS(OMNES_TAKE)
#undef OMNES_TAKE
  return Family::smpi;
}

Wide world_of(Family) { return 0; }

}  // namespace omnes::interpose
