// Collective operations cannot be cancelled: that is an error, they complete all the same, and so do later ones.
#include "check.h"

enum { count = 4 };

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int i = 0; i < 20; ++i) {
    MPI_Request requests[count];
    int sums[count], mine = rank + i, index;
    for (int k = 0; k < count; ++k) {
      sums[k] = -1;
      MPI_Iallreduce(&mine, &sums[k], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[k]);
      // An operation that is over may have a request of which the MPI says nothing.
      if (k == 0 && rank == 0 && requests[k] != MPI_REQUEST_NULL) MPI_Cancel(&requests[k]);
    }
    for (int k = 0; k < count; ++k) {
      MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
      if (sums[index] != ranks * (ranks - 1) / 2 + ranks * i)
        fail("operation %d of round %d: %d", index, i, sums[index]);
    }
  }
  return finish();
}
