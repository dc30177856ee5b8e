// Calls on a communicator that was revoked (ULFM, Open MPI 5) fail as the host's do: with "all", every rank revokes it;
// else rank 0 does, and the others are told by the host.
#include "check.h"

#include <mpi-ext.h>  // after mpi.h

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int all = argc > 1 && strcmp(argv[1], "all") == 0;
  int rank, value = 1, flag = 0, class;
  MPI_Comm comm;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 3; ++i)
    if (MPI_Bcast(&value, 1, MPI_INT, 0, comm) != MPI_SUCCESS) fail("bcast before");
  MPI_Barrier(MPI_COMM_WORLD);
  if (all || rank == 0) MPIX_Comm_revoke(comm);
  while (!flag) {
    int any;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
    MPIX_Comm_is_revoked(comm, &flag);
  }
  for (int i = 0; i < 2; ++i) {
    MPI_Error_class(MPI_Bcast(&value, 1, MPI_INT, 0, comm), &class);
    if (class != MPIX_ERR_REVOKED) fail("bcast after: class %d", class);
    MPI_Error_class(MPI_Barrier(comm), &class);
    if (class != MPIX_ERR_REVOKED) fail("barrier after: class %d", class);
  }
  MPI_Comm_free(&comm);
  return finish();
}
