// A communicator that was freed is none any more: to free it again by another handle is an error, also where omnes has kept it.
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) {
    MPI_Comm comm, other;
    int class = MPI_SUCCESS, ranks, sum = 0;
    const int one = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    other = comm;
    MPI_Comm_size(comm, &ranks);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != ranks) fail("sum %d", sum);
    MPI_Comm_free(&comm);
    MPI_Error_class(MPI_Comm_free(&other), &class);
    if (class != MPI_ERR_COMM) fail("freed again: class %d", class);
  }
  return finish();
}
