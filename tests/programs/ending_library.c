// A library that initialises MPI when it is loaded and ends it when it is unloaded, both beside operations.
#include <mpi.h>
#include <stdio.h>

void use_ending_library(void) {}

static int sum_of_ones(void) {
  int one = 1, sum = 0;
  MPI_Comm copy;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
  MPI_Ibarrier(copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&copy);
  return sum;
}

__attribute__((constructor)) static void begin(void) { MPI_Init(NULL, NULL); }

__attribute__((destructor)) static void end(void) {
  int rank, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  const int sum = sum_of_ones();
  MPI_Finalize();
  if (rank == 0 && sum == p) fprintf(stderr, "OK\n");
}
