// MPI_COMM_WORLD is revoked by rank 0 (ULFM, Open MPI 5), while the others are in a call on it that rank 0 does not make: from then on each
// has made as many calls on it as it has.
#include "check.h"

#include <mpi-ext.h>  // after mpi.h

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, p, one = 1, sum = 0, ones[8] = {0}, sums[8], class;
  MPI_Comm rest;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS) fail("allreduce before");
  for (int i = 0; i < rank; ++i) {  // by a rank of a higher number in more calls
    MPI_Error_class(MPI_Allreduce(ones, sums, 1 + i, MPI_INT, MPI_SUM, MPI_COMM_WORLD), &class);
    if (class != MPIX_ERR_REVOKED) fail("allreduce: class %d", class);
  }
  if (rank == 0) MPIX_Comm_revoke(MPI_COMM_WORLD);
  if (MPIX_Comm_shrink(MPI_COMM_WORLD, &rest) != MPI_SUCCESS) fail("shrink");
  for (int i = 0; i < 3; ++i)
    if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, rest) != MPI_SUCCESS || sum != p) fail("after: %d", sum);
  MPI_Comm_free(&rest);
  if (rank == 0 && failures == 0) printf("OK\n");
  MPI_Finalize();
  return failures > 0;
}
