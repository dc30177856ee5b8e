// What the program has started moves while a rank sits in a barrier: large messages that its peers receive before they
// come to the barrier, also the first one of a communicator, and locks and data of windows that it has opened.
#include "check.h"

static int rank, p;

// Blocks with gaps are such as a sender has to pack, again and again.
static void messages(MPI_Comm comm, int from) {
  const int n = 1 << 23;
  char* data = calloc(2, n);
  MPI_Datatype blocks;
  MPI_Type_vector(n / 8, 8, 16, MPI_BYTE, &blocks);
  MPI_Type_commit(&blocks);
  if (rank == from) {
    MPI_Request requests[64];
    for (int to = 0; to < p; ++to)
      if (to == from)
        requests[to] = MPI_REQUEST_NULL;
      else
        MPI_Isend(data, 1, blocks, to, 0, MPI_COMM_WORLD, &requests[to]);
    MPI_Barrier(comm);
    MPI_Waitall(p, requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Recv(data, n, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
  }
  MPI_Type_free(&blocks);
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
    messages(MPI_COMM_WORLD, 0);
    for (int from = 0; from < p; ++from) {
      MPI_Comm another;
      MPI_Comm_dup(MPI_COMM_WORLD, &another);
      MPI_Comm_set_name(another, "another");  // so that it does not come back
      messages(another, from);
      MPI_Comm_free(&another);
    }
    window();
  }
  return finish();
}
