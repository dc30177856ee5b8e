// An attached buffer with space for one message: after a barrier that follows its receive, the next buffered send finds room.
//
// Usage: buffered BYTES
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  const int n = argc > 1 ? atoi(argv[1]) : 65536;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  char* data = calloc(n, 1);
  size = n + 2 * MPI_BSEND_OVERHEAD;
  void* space = malloc(size);
  MPI_Buffer_attach(space, size);
  MPI_Request request;
  if (rank == 0) MPI_Bsend_init(data, n, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 300 && failures == 0; ++i) {
    int code = MPI_SUCCESS;
    if (rank == 1) {
      MPI_Recv(data, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (i % 3 == 0) {
      code = MPI_Bsend(data, n, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else if (i % 3 == 1) {
      MPI_Request own;
      code = MPI_Ibsend(data, n, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &own);
      if (code == MPI_SUCCESS) MPI_Wait(&own, MPI_STATUS_IGNORE);
    } else {
      code = MPI_Start(&request);
      if (code == MPI_SUCCESS) MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (code != MPI_SUCCESS) {
      fail("no space in round %d", i);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) MPI_Request_free(&request);
  MPI_Buffer_detach(&space, &size);
  free(space);
  free(data);
  return finish();
}
