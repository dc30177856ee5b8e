// Prints what calls return whose contribution lies where its result goes, class by class, for comparison with the stock MPI; then ends as
// usual.
#include "forms.h"

static int handled = 0;
static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}

static void report(const char* name, enum form form, int code) {
  int error_class = MPI_SUCCESS, rank;
  MPI_Error_class(code, &error_class);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%s, form %d: class %d, handler called %d times\n", name, form, error_class, handled);
  handled = 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm, self;
  MPI_Errhandler handler;
  int a[64] = {0}, counts[8], displs[8], rank, p;
  MPI_Datatype types[8];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  MPI_Comm_create_errhandler(count_error, &handler);
  for (int r = 0; r < 8; ++r) counts[r] = 1, displs[r] = r, types[r] = MPI_INT;

  // Of one rank, so that nobody waits for it.
  for (int round = 0; round < 4; ++round) {
    const int count = 1 + round / 2;
    MPI_Comm_set_errhandler(self, round % 2 ? handler : MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, round % 2 ? handler : MPI_ERRORS_RETURN);  // which some MPIs take instead
    FORMS(Reduce, reduce, (a, a, count, MPI_INT, MPI_SUM, 0, self));
    FORMS(Allreduce, allreduce, (a, a, count, MPI_INT, MPI_SUM, self));
    FORMS(Scan, scan, (a, a, count, MPI_INT, MPI_SUM, self));
    FORMS(Exscan, exscan, (a, a, count, MPI_INT, MPI_SUM, self));
    FORMS(Reduce_scatter_block, reduce_scatter_block, (a, a, count, MPI_INT, MPI_SUM, self));
    FORMS(Reduce_scatter, reduce_scatter, (a, a, &count, MPI_INT, MPI_SUM, self));
    FORMS(Gather, gather, (a, count, MPI_INT, a, count, MPI_INT, 0, self));
    FORMS(Scatter, scatter, (a, count, MPI_INT, a, count, MPI_INT, 0, self));
    FORMS(Allgather, allgather, (a, count, MPI_INT, a, count, MPI_INT, self));
    FORMS(Alltoall, alltoall, (a, count, MPI_INT, a, count, MPI_INT, self));
    FORMS(Gatherv, gatherv, (a, count, MPI_INT, a, &count, displs, MPI_INT, 0, self));
    FORMS(Scatterv, scatterv, (a, &count, displs, MPI_INT, a, count, MPI_INT, 0, self));
    FORMS(Allgatherv, allgatherv, (a, count, MPI_INT, a, &count, displs, MPI_INT, self));
    FORMS(Alltoallv, alltoallv, (a, &count, displs, MPI_INT, a, &count, displs, MPI_INT, self));
    FORMS(Alltoallw, alltoallw, (a, &count, displs, types, a, &count, displs, types, self));
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  // Of all: an error of all ranks, or of none.
  FORMS(Allreduce, allreduce, (a, a, 4, MPI_INT, MPI_SUM, comm));
  FORMS(Scan, scan, (a, a, 4, MPI_INT, MPI_SUM, comm));
  FORMS(Exscan, exscan, (a, a, 4, MPI_INT, MPI_SUM, comm));
  FORMS(Reduce_scatter_block, reduce_scatter_block, (a, a, 4, MPI_INT, MPI_SUM, comm));
  FORMS(Reduce_scatter, reduce_scatter, (a, a, counts, MPI_INT, MPI_SUM, comm));
  FORMS(Allgather, allgather, (a + rank, 1, MPI_INT, a, 1, MPI_INT, comm));
  FORMS(Allgatherv, allgatherv, (a + rank, 1, MPI_INT, a, counts, displs, MPI_INT, comm));
  FORMS(Alltoall, alltoall, (a, 1, MPI_INT, a, 1, MPI_INT, comm));
  FORMS(Alltoallv, alltoallv, (a, counts, displs, MPI_INT, a, counts, displs, MPI_INT, comm));
  // The same calls with buffers apart come first: what is kept of those lets none of these pass, on no rank.
  for (int round = 0; round < 5; ++round) {
    const int count = 1 + round / 3, apart = round < 2 || round == 3;
    int b[16] = {0}, *const own = apart ? b : a + rank * count;
    for (int r = 0; r < 8; ++r) counts[r] = count, displs[r] = r * count;
    report("Allgather again", BLOCKING, MPI_Allgather(own, count, MPI_INT, a, count, MPI_INT, comm));
    report("Allgatherv again", BLOCKING, MPI_Allgatherv(own, count, MPI_INT, a, counts, displs, MPI_INT, comm));
    report("Alltoall again", BLOCKING, MPI_Alltoall(apart ? b : a, count, MPI_INT, a, count, MPI_INT, comm));
  }
  // An error of the root alone: the others have sent, and go on.
  report("Gather at one rank", BLOCKING, MPI_Gather(a + rank, 1, MPI_INT, a, 1, MPI_INT, 0, comm));
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&self);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
