// Datatypes, operators, communicators: what operations under way need is kept by Open MPI's own counts of who uses it.
#include "component/bridge.h"
#include "interpose/types/blocks.hpp"
#include "interpose/types/holds.hpp"

namespace omnes::interpose {

bool has_envelope(MPI_Datatype type) { return omnes_has_envelope(type); }

namespace holds {

void take_type(MPI_Datatype type) { omnes_retain(type); }
void take_op(MPI_Op op) { omnes_retain(op); }
void give_back_type(MPI_Datatype type) { omnes_release(type); }
void give_back_op(MPI_Op op) { omnes_release(op); }
void take_communicator(MPI_Comm comm) { omnes_retain(comm); }
void give_back_communicator(MPI_Comm comm) { omnes_release(comm); }

}  // namespace holds

}  // namespace omnes::interpose
