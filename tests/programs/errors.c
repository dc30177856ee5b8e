// Prints what erroneous calls return, class by class, for comparison with the stock MPI. The communicator's own
// handler is called where it has one.
#include "check.h"

static int handled = 0;
static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++handled;
}

static void report(const char* what, int code) {
  int class = MPI_SUCCESS, rank;
  MPI_Error_class(code, &class);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%s: class %d, handler called %d times\n", what, class, handled);
  handled = 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int p;
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // errors without a communicator come here
  int a[64] = {0}, b[64] = {0};
  report("bcast root p", MPI_Bcast(a, 1, MPI_INT, p, comm));
  report("barrier", MPI_Barrier(comm));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  report("bcast root -1", MPI_Bcast(a, 1, MPI_INT, -1, comm));
  report("bcast count -1", MPI_Bcast(a, -1, MPI_INT, 0, comm));
  report("bcast null type", MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, comm));
  report("barrier null comm", MPI_Barrier(MPI_COMM_NULL));
  report("reduce root p", MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, p, comm));
  report("reduce null op", MPI_Reduce(a, b, 1, MPI_INT, MPI_OP_NULL, 0, comm));
  report("allreduce bits of doubles", MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_BAND, comm));
  report("gather root p", MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, p, comm));
  report("scatter count -1", MPI_Scatter(a, -1, MPI_INT, b, -1, MPI_INT, 0, comm));
  report("allgather null type", MPI_Allgather(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_DATATYPE_NULL, comm));
  report("alltoall count -1", MPI_Alltoall(a, -1, MPI_INT, b, -1, MPI_INT, comm));
  MPI_Datatype uncommitted;
  MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted);
  report("bcast uncommitted type", MPI_Bcast(a, 1, uncommitted, 0, comm));
  MPI_Type_free(&uncommitted);
  MPI_Comm fresh;
  MPI_Request request;
  int rank;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_dup(comm, &fresh);
  if (rank == 0) report("first call, one rank's bcast count -1", MPI_Bcast(a, -1, MPI_INT, 0, fresh));
  if (rank == 0) report("its ibcast", MPI_Ibcast(a, -1, MPI_INT, 0, fresh, &request));
  MPI_Comm_free(&fresh);
#ifdef MPICH_VERSION
  // Whose handles are numbers.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  report("allreduce by what is no operation", MPI_Allreduce(a, b, 1, MPI_INT, (MPI_Op)comm, comm));
  report("its nonblocking form", MPI_Iallreduce(a, b, 1, MPI_INT, (MPI_Op)comm, comm, &request));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
#endif
  report("good allreduce", MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, comm));
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
