// A rank that waits for a message from any other learns that one has died (ULFM, Open MPI 5 --with-ft ulfm), also while an operation is under
// way; its receive is then gone: it takes no message that comes later.
#include "check.h"

#include <mpi-ext.h>  // after mpi.h
#include <signal.h>
#include <unistd.h>

enum { receiver, sender, victim };

static void end(int number) {
  (void)number;
  _exit(0);
}

int main(int argc, char** argv) {
  int rank, class, data = 0, sum = 0;
  const int one = 1;
  MPI_Comm others;
  MPI_Group dead;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_split(MPI_COMM_WORLD, rank == victim, 0, &others);
  MPI_Comm_set_errhandler(others, MPI_ERRORS_RETURN);
  if (rank == victim) raise(SIGKILL);
  if (rank == receiver) {
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others, &request);
    const int replaced = argc > 1 && strcmp(argv[1], "sendrecv") == 0;
    const int code = replaced ? MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, &data, 1, MPI_INT, MPI_ANY_SOURCE, 1,
                                             MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                              : MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    if (class != MPI_ERR_PROC_FAILED) fail("class %d", class);
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &dead);
    MPI_Group_free(&dead);
    MPI_Send(&one, 1, MPI_INT, sender, 2, MPI_COMM_WORLD);
    int later = 0;
    MPI_Recv(&later, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (later != 7 || data != 0) fail("received %d, and %d into what was given up", later, data);
  } else {
    const int seven = 7;
    MPI_Recv(&data, 1, MPI_INT, receiver, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&seven, 1, MPI_INT, receiver, 1, MPI_COMM_WORLD);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != 2) fail("sum %d", sum);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, others);
  if (rank == receiver && all == 0) printf("OK\n");
  fflush(stdout);
  signal(SIGALRM, end);  // Open MPI 5.0 may wait in MPI_Finalize for the one that has died
  alarm(3);
  MPI_Finalize();
  return failures > 0;
}
