// Ranks wait in one-sided functions of the MPI for one that waits for a collective operation, which needs them: by the program's own
// function, or by messages.
#include <unistd.h>

#include "check.h"

enum { count = 1 << 17 };
static double mine[count], sums[count];

static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((double*)inout)[i] += ((double*)in)[i];
}

int main(int argc, char** argv) {
  int rank, ranks, *data;
  const int seven = 7;
  MPI_Win window;
  MPI_Group all, other;
  MPI_Op op;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Op_create(add, 1, &op);
  MPI_Win_allocate(sizeof *data, sizeof *data, MPI_INFO_NULL, MPI_COMM_WORLD, &data, &window);
  const int partner = 1 - rank;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  if (rank < 2) MPI_Group_incl(all, 1, &partner, &other);
  for (int i = 0; i < count; ++i) mine[i] = 1;
  for (int round = 0; round < 6; ++round) {
    MPI_Request request;
    const int exposes = round % 3 == 0 ? 0 : 1, locks = round % 3 == 2;
    *data = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (locks && rank == 1) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
      MPI_Win_flush(1, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iallreduce(mine, sums, count, MPI_DOUBLE, round < 3 ? op : MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank != 0) {
      usleep(10000);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (locks && rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    if (locks && rank < 2) MPI_Win_unlock(1, window);
    if (!locks && rank == exposes) {
      MPI_Win_post(other, 0, window);
      MPI_Win_wait(window);
      if (*data != seven) fail("round %d: %d", round, *data);
    } else if (!locks && rank < 2) {
      MPI_Win_start(other, 0, window);
      MPI_Put(&seven, 1, MPI_INT, partner, 0, 1, MPI_INT, window);
      MPI_Win_complete(window);
    }
    if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i += 1000)
      if (sums[i] != ranks) fail("round %d: element %d is %g", round, i, sums[i]);
  }
  if (rank < 2) MPI_Group_free(&other);
  MPI_Group_free(&all);
  MPI_Op_free(&op);
  MPI_Win_free(&window);
  return finish();
}
