// Says that it is ready, then waits to be ended. MPI is not initialised: some MPIs leave shared memory behind when they
// are killed, and this is for tests of signals.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int initialized;
  MPI_Initialized(&initialized);
  printf("ready\n");
  fflush(stdout);
  for (;;) pause();
}
