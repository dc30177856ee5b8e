// Fortran's functions that give a communicator an attribute: they call parts of the host that nobody else sees. (All
// others call functions that are ours.)
#include "interpose/communicator/spares.hpp"
#include "interpose/host/loaded_objects.hpp"

namespace omnes::interpose {

// As compilers spell them. The arguments' addresses, whatever they are of.
#define OMNES_FORTRAN(name)                                                                                     \
  extern "C" __attribute__((visibility("default"))) void name(void* comm, void* key, void* value, void* code) { \
    static const auto function = reinterpret_cast<void (*)(void*, void*, void*, void*)>(next_of(#name));        \
    spares::stop();                                                                                             \
    function(comm, key, value, code);                                                                           \
  }
#define OMNES_FORTRAN_SPELLED(lower, upper) \
  OMNES_FORTRAN(lower) OMNES_FORTRAN(lower##_) OMNES_FORTRAN(lower##__) OMNES_FORTRAN(upper)

OMNES_FORTRAN_SPELLED(mpi_comm_set_attr, MPI_COMM_SET_ATTR)
OMNES_FORTRAN_SPELLED(pmpi_comm_set_attr, PMPI_COMM_SET_ATTR)
OMNES_FORTRAN_SPELLED(mpi_attr_put, MPI_ATTR_PUT)
OMNES_FORTRAN_SPELLED(pmpi_attr_put, PMPI_ATTR_PUT)
OMNES_FORTRAN(mpi_comm_set_attr_f08_)
OMNES_FORTRAN(pmpi_comm_set_attr_f08_)
OMNES_FORTRAN(pmpir_comm_set_attr_f08_)

}  // namespace omnes::interpose
