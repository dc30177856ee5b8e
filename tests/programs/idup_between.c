// An operation between two groups that begins at another moment on each rank, and beside it their duplication: the MPI's own nonblocking
// collectives on that communicator come in the same order on all ranks.
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int group = rank % 2, remote = group == 0 ? ranks / 2 : (ranks + 1) / 2;
  for (int i = 0; i < 6; ++i) {
    MPI_Comm half, inter, dup;
    MPI_Request requests[2];
    int got[8], done = 0;
    MPI_Comm_split(MPI_COMM_WORLD, group, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - group, i, &inter);
    if (rank == i % ranks) usleep(20000);
    MPI_Ibarrier(inter, &requests[0]);
    for (int test = 0; test < 30 && rank == (i + 1) % ranks && !done; ++test) {
      MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
      usleep(1000);
    }
    MPI_Comm_idup(inter, &dup, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, dup);
    for (int r = 0; r < remote; ++r)
      if (got[r] != 2 * r + 1 - group) fail("rank %d of the other group is %d", r, got[r]);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  return finish();
}
