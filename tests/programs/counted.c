// Calls MPI_Allreduce five times, MPI_Barrier twice, and MPI_Wait once, for tools that count; the argument is how many ms to compute between.
#include <time.h>

#include "check.h"

static double compute(double ms) {
  double x = 1;
  struct timespec begun, now;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  do {
    for (int i = 0; i < 1000; ++i) x = x * 0.999 + 0.001;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begun.tv_sec) * 1e3 + (double)(now.tv_nsec - begun.tv_nsec) / 1e6 < ms);
  return x;
}

int main(int argc, char** argv) {
  int rank, ranks, wanted;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  wanted = ranks * (ranks - 1) / 2;
  for (int i = 0; i < 4; ++i) {  // finish() has the fifth
    int sum = -1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != wanted) fail("sum no. %d is %d, not %d", i, sum, wanted);
    if (argc > 1 && compute(atof(argv[1])) != 1) fail("cannot compute");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int word = rank == 1 ? 17 : 0;
  MPI_Request request;
  MPI_Ibcast(&word, 1, MPI_INT, 1 % ranks, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (ranks > 1 && word != 17) fail("got %d, not 17", word);
  MPI_Barrier(MPI_COMM_WORLD);
  return finish();
}
