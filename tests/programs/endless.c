// Runs collectives until it is killed; rank 1 kills itself after a while when asked to.
#include <signal.h>

#include "check.h"

// Usage: endless [CALLS]: rank 1 ends itself by SIGKILL after so many.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int last = argc > 1 ? atoi(argv[1]) : -1;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int n = 100000;
  double* a = calloc(n, sizeof *a);
  double* b = calloc(n, sizeof *b);
  for (int i = 0;; ++i) {
    if (rank == 1 && i == last) raise(SIGKILL);
    MPI_Allreduce(a, b, i % 2 ? n : 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}
