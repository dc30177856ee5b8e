// A nonblocking allreduce hides behind a computation.
//
//   mpicc -O2 overlap.c -o overlap
//   omnes run -n 4 ./overlap
//
// prints
//
//   sum 6, computed meanwhile 500000500000
//
// While a rank computes, nothing moves the operation on unless the program looks in with MPI_Test, as here, or a thread
// of omnes does: OMNES_ASYNC=1 omnes run -n 4 ./overlap
#include <mpi.h>
#include <stdio.h>

enum { elements = 1 << 16, steps = 1000, per_step = 1000 };

static double mine[elements], sums[elements];

int main(int argc, char** argv) {
  int rank, done;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < elements; ++i) mine[i] = rank;

  // From here to the end of the operation, neither buffer may be touched.
  MPI_Iallreduce(mine, sums, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  long long computed = 0;
  for (int step = 0; step < steps; ++step) {
    for (int i = 1; i <= per_step; ++i) computed += (long long)step * per_step + i;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  if (rank == 0) printf("sum %g, computed meanwhile %lld\n", sums[elements - 1], computed);
  MPI_Finalize();
  return 0;
}
