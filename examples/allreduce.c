// The hello of collectives: all ranks learn the sum of their numbers.
//
//   mpicc -O2 allreduce.c -o allreduce
//   omnes run -n 4 ./allreduce
//
// prints
//
//   4 ranks, sum 6
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
  MPI_Finalize();
  return 0;
}
