// Sums the ranks, says so on rank 0, and every rank ends with the exit code given as the first argument.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d %s\n", sum, argc > 2 ? argv[2] : "");
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
