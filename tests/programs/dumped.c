// A program that has a buffer in memory that its peers map when it calls MPI_Barrier, where a debugger stops.
#include <stdlib.h>

#include "check.h"
#include "mapped.h"

enum { count = 100000 };

int* numbers;

int main(int argc, char** argv) {
  int rank, mapped = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  numbers = malloc(count * sizeof *numbers);
  for (int round = 0; round < 3000 && !mapped; ++round) {
    MPI_Bcast(numbers, count, MPI_INT, 0, MPI_COMM_WORLD);
    const int own = round % 100 == 99 && is_mapped(numbers + count / 2);
    MPI_Allreduce(&own, &mapped, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  if (!mapped) fail("a buffer is not in a heap");
  for (int i = 0; i < count; ++i) numbers[i] = 3 * i;
  MPI_Barrier(MPI_COMM_WORLD);
  return finish();
}
