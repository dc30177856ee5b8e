// MPICH's extensions for progress: a request is over when MPIX_Request_is_complete says so, which nothing but progress brings about.
#include "check.h"

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 200; ++i) {
    const int mine = rank + i;
    int sum = 0, done = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    while (!MPIX_Request_is_complete(request)) MPIX_Stream_progress(MPIX_STREAM_NULL);
    if (sum != ranks * (ranks - 1) / 2 + ranks * i) fail("sum %d", sum);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done || request != MPI_REQUEST_NULL) fail("not over");
  }
  return finish();
}
