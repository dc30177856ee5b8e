// A rank that waits in a collective for one that comes late does not sleep where it has a CPU of its own.
#define _GNU_SOURCE  // RUSAGE_THREAD
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

enum { LATE_US = 50000, FEW = 10 };  // sleeps; whoever sleeps does so for half a millisecond

static long sleeps(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;  // yields are no such switches
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) usleep(LATE_US);
  const long before = sleeps();
  MPI_Barrier(MPI_COMM_WORLD);
  if (sleeps() - before > FEW) fail("slept %ld times", sleeps() - before);
  return finish();
}
