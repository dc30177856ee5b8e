// A persistent allreduce: what does not change from one iteration to the next is found out once.
//
//   mpicc -O2 persistent.c -o persistent
//   omnes run -n 4 ./persistent
//
// prints
//
//   iteration 0: norm 6
//   iteration 1: norm 12
//   iteration 2: norm 18
//
// Needs MPI 4: Open MPI 5, or MPICH 4 or newer. Open MPI 4.1 names the function MPIX_Allreduce_init, in <mpi-ext.h>.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  double part, norm;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  // All ranks make their persistent operations in the same order; they may start them in any order.
  MPI_Allreduce_init(&part, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int iteration = 0; iteration < 3; ++iteration) {
    part = rank * (iteration + 1.0);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) printf("iteration %d: norm %g\n", iteration, norm);
  }
  MPI_Request_free(&request);
  MPI_Finalize();
  return 0;
}
