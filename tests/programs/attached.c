// A communicator that has had a buffer attached (MPI 4.1) is like none that was freed: the next one can have one.
#include "check.h"

int main(int argc, char** argv) {
  int rank, ranks, received;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, bytes = 100 + MPI_BSEND_OVERHEAD;
  for (int i = 0; i < 5; ++i) {
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
    char* const buffer = malloc(bytes);
    if (MPI_Comm_attach_buffer(dup, buffer, bytes) != MPI_SUCCESS) fail("round %d: not attached", i);
    if (i % 2 == 0) {
      MPI_Bsend(&rank, 1, MPI_INT, next, 1, dup);
      MPI_Recv(&received, 1, MPI_INT, last, 1, dup, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(dup);
    MPI_Comm_free(&dup);
    free(buffer);
  }
  return finish();
}
