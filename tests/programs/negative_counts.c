// Negative counts in arrays of counts are errors, in every form: of class MPI_ERR_COUNT, through the communicator's handler, and
// nothing is written.
#include "forms.h"

enum { MAX_RANKS = 8, INTS = 64 };

static int handled = 0;
static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}

static const char* what;
static int with_handler;  // else errors are returned; after a handler, not every MPI does so
static int memory[2][INTS];

static void report(const char* name, enum form form, int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  if (!with_handler && error_class != MPI_ERR_COUNT) fail("%s, form %d, %s: class %d", name, form, what, error_class);
  if (handled != with_handler) fail("%s, form %d, %s: handler called %d times", name, form, what, handled);
  for (int i = 0; i < INTS; ++i)
    if (memory[1][i] != i) fail("%s, form %d, %s: element %d has become %d", name, form, what, i, memory[1][i]);
  handled = 0;
}

// `send` and `recv` are the counts of what is sent and received; those that are negative are at `where`.
static void check_all(int* send, int* recv, MPI_Comm comm, MPI_Comm line) {
  int displs[MAX_RANKS], p;
  MPI_Aint far_displs[MAX_RANKS];
  MPI_Datatype types[MAX_RANKS];
  for (int r = 0; r < MAX_RANKS; ++r) displs[r] = far_displs[r] = 0, types[r] = MPI_INT;
  int *a = memory[0] + INTS / 2, *b = memory[1] + INTS / 2;
  MPI_Comm_size(comm, &p);
  FORMS(Alltoallv, alltoallv, (a, send, displs, MPI_INT, b, recv, displs, MPI_INT, comm));
  FORMS(Alltoallw, alltoallw, (a, send, displs, types, b, recv, displs, types, comm));
  FORMS(Neighbor_alltoallv, neighbor_alltoallv, (a, send, displs, MPI_INT, b, recv, displs, MPI_INT, line));
  FORMS(Neighbor_alltoallw, neighbor_alltoallw, (a, send, far_displs, types, b, recv, far_displs, types, line));
}

static void check_received(int* recv, MPI_Comm comm, MPI_Comm line) {
  int displs[MAX_RANKS] = {0}, rank;
  int *a = memory[0] + INTS / 2, *b = memory[1] + INTS / 2;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) FORMS(Gatherv, gatherv, (a, 1, MPI_INT, b, recv, displs, MPI_INT, 0, comm));
  if (rank == 0) FORMS(Scatterv, scatterv, (a, recv, displs, MPI_INT, b, 1, MPI_INT, 0, comm));
  FORMS(Allgatherv, allgatherv, (a, 1, MPI_INT, b, recv, displs, MPI_INT, comm));
  FORMS(Allgatherv, allgatherv, (MPI_IN_PLACE, 0, MPI_INT, b, recv, displs, MPI_INT, comm));
  FORMS(Alltoallv, alltoallv, (MPI_IN_PLACE, NULL, NULL, MPI_INT, b, recv, displs, MPI_INT, comm));
  FORMS(Neighbor_allgatherv, neighbor_allgatherv, (a, 1, MPI_INT, b, recv, displs, MPI_INT, line));
  FORMS(Reduce_scatter, reduce_scatter, (a, b, recv, MPI_INT, MPI_SUM, comm));
  FORMS(Reduce_scatter_block, reduce_scatter_block, (a, b, -1, MPI_INT, MPI_SUM, comm));
}

// Calls that differ from those that are checked in nothing but what the arrays hold: from then on only that is looked at.
static void make_known(MPI_Comm comm) {
  int counts[MAX_RANKS], displs[MAX_RANKS];
  int *a = memory[0] + INTS / 2, *b = memory[1] + INTS / 2;
  for (int count = 1; count <= 4; ++count) {
    for (int r = 0; r < MAX_RANKS; ++r) counts[r] = count % 4, displs[r] = 4 * r;
    MPI_Alltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, comm);
    MPI_Gatherv(a, count % 4, MPI_INT, b, counts, displs, MPI_INT, 0, comm);
    MPI_Scatterv(a, counts, displs, MPI_INT, b, count % 4, MPI_INT, 0, comm);
    MPI_Allgatherv(a, count % 4, MPI_INT, b, counts, displs, MPI_INT, comm);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, b, counts, displs, MPI_INT, comm);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, b, counts, displs, MPI_INT, comm);
  }
  for (int i = 0; i < INTS; ++i) memory[1][i] = i;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int p;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  // A line, not a ring: those at its ends have a neighbor less, but as many counts.
  const int open = 0;
  MPI_Comm comm, line;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Cart_create(comm, 1, &p, &open, 0, &line);
  MPI_Comm_create_errhandler(count_error, &handler);
  for (int i = 0; i < INTS; ++i) memory[1][i] = i;
  for (int round = 0; round < 8; ++round) {
    const int where = round / 2 % 2;
    with_handler = round % 2;
    if (round == 4) make_known(comm);
    MPI_Comm_set_errhandler(comm, with_handler ? handler : MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(line, with_handler ? handler : MPI_ERRORS_RETURN);
    int good[MAX_RANKS], bad[MAX_RANKS];
    for (int r = 0; r < MAX_RANKS; ++r) good[r] = 1, bad[r] = r == where ? -3 : 1;
    what = where ? "the second count received" : "the first count received";
    check_all(good, bad, comm, line);
    check_received(bad, comm, line);
    what = where ? "the second count sent" : "the first count sent";
    check_all(bad, good, comm, line);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&line);
  MPI_Comm_free(&comm);
  return finish();
}
