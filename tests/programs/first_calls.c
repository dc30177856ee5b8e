// Ten broadcasts and as many sums on a communicator that was made for them, blocking or not: what is left to the MPI at first,
// and from when on omnes serves them, statistics say.
#include "check.h"

enum { calls = 10, count = 100 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, data[count];
  MPI_Comm made;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  for (int call = 0; call < calls; ++call) {
    const int root = call % size;
    for (int i = 0; i < count; ++i) data[i] = rank == root ? call + i : -1;
    MPI_Request request;
    if (call % 2 == 0) {
      MPI_Bcast(data, count, MPI_INT, root, made);
    } else {
      MPI_Ibcast(data, count, MPI_INT, root, made, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < count; ++i)
      if (data[i] != call + i) fail("bcast %d: [%d] = %d", call, i, data[i]);
  }
  MPI_Comm_free(&made);

  // The same sum gives the same bits again: by one of both, from the first call on.
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  double first = 0;
  for (int call = 0; call < calls; ++call) {
    const double mine = 1.0 / (3 + rank);
    double sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, made);
    if (call == 0) first = sum;
    if (memcmp(&sum, &first, sizeof sum) != 0) fail("sum %d differs from the first", call);
  }
  MPI_Comm_free(&made);
  return finish();
}
