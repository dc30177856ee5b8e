// What the program has started moves while a rank sits in a barrier: large messages that its peers receive before they
// come to the barrier, and locks and data of windows that it has opened.
#include "check.h"

static int rank, p;

static void messages(void) {
  const int n = 1 << 23;
  char* data = calloc(n, 1);
  if (rank == 0) {
    MPI_Request requests[64];
    for (int to = 1; to < p; ++to) MPI_Isend(data, n, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[to]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(p - 1, requests + 1, MPI_STATUSES_IGNORE);
  } else {
    MPI_Recv(data, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(data);
}

static void window(void) {
  int value = 0;
  MPI_Win win;
  MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank > 0) {
    const int one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    if (value != p - 1) fail("%d accumulated, not %d", value, p - 1);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  for (int i = 0; i < 3; ++i) {
    messages();
    window();
  }
  return finish();
}
