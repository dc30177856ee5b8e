// A broadcast of 4 bytes and one of 64 KiB, an allgather and an allreduce, with right results: what a table may decide.
#include "check.h"

enum { longest = 16384 };  // ints

static int values[longest], gathered[longest];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int count = 1; count <= longest; count *= longest) {
    for (int i = 0; i < count; ++i) values[i] = rank == 0 ? i + 7 : -1;
    MPI_Bcast(values, count, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
      if (values[i] != i + 7) fail("bcast of %d: %d at %d", count, values[i], i);
  }
  MPI_Allgather(&rank, 1, MPI_INT, gathered, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i)
    if (gathered[i] != i) fail("allgather: %d at %d", gathered[i], i);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size * (size - 1) / 2) fail("allreduce: %d", sum);
  if (rank == 0 && failures == 0) printf("OK\n");
  MPI_Finalize();
  return failures > 0;
}
