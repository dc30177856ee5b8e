// Errors of MPI_Waitall are told as the MPI tells them, also while an operation is under way: by the default communicators' handlers, in the
// statuses, and by its code.
#include "check.h"

static int calls;
static void count_calls(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++calls;
}

int main(int argc, char** argv) {
  int rank, sum = 0, small[1], large[100] = {0}, class;
  const int one = 1;
  MPI_Comm comm, fatal;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &fatal);
  MPI_Comm_create_errhandler(count_calls, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(fatal, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int round = 0; round < 2; ++round) {
    MPI_Comm used = round == 0 ? comm : fatal;
    MPI_Request requests[2], held;
    MPI_Status statuses[2];
    if (rank == 1) MPI_Send(large, 100, MPI_INT, 0, 1, used);
    if (rank == 0) {
      MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &held);
      MPI_Irecv(small, 1, MPI_INT, 1, 1, used, &requests[0]);
      requests[1] = MPI_REQUEST_NULL;
      MPI_Error_class(MPI_Waitall(2, requests, statuses), &class);
      if (class != MPI_ERR_IN_STATUS) fail("round %d: class %d", round, class);
      MPI_Error_class(statuses[0].MPI_ERROR, &class);
      if (class != MPI_ERR_TRUNCATE) fail("round %d: status %d", round, class);
    } else {
      MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &held);
    }
    MPI_Wait(&held, MPI_STATUS_IGNORE);
  }
  if (calls != 0) fail("%d calls of the communicator's handler", calls);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&fatal);
  return finish();
}
