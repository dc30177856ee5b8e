// MPI_Sendrecv_replace while a collective operation is under way: of data at MPI_BOTTOM, of none, of a type with gaps, and from nobody.
#include <unistd.h>

#include "check.h"

static int numbers[64];

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Datatype at_bottom, every_second;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, length = 3;
  MPI_Aint address;
  MPI_Get_address(numbers, &address);
  MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &at_bottom);
  MPI_Type_vector(4, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&at_bottom);
  MPI_Type_commit(&every_second);
  for (int round = 0; round < 5; ++round) {
    MPI_Request request;
    const int held = round % ranks == rank;
    if (!held) MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int i = 0; i < 64; ++i) numbers[i] = rank * 100 + i;
    MPI_Sendrecv_replace(MPI_BOTTOM, 1, at_bottom, next, 1, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; ++i)
      if (numbers[i] != (i < length ? last : rank) * 100 + i) fail("at MPI_BOTTOM, element %d: %d", i, numbers[i]);
    MPI_Sendrecv_replace(NULL, 0, MPI_INT, next, 1, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 64; ++i) numbers[i] = rank * 100 + i;
    MPI_Sendrecv_replace(numbers, 1, every_second, next, 1, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 9; ++i)
      if (numbers[i] != (i % 2 == 0 && i < 8 ? last : rank) * 100 + i) fail("with gaps, element %d: %d", i, numbers[i]);
    MPI_Sendrecv_replace(numbers, 9, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 9; ++i)
      if (numbers[i] != (i % 2 == 0 && i < 8 ? last : rank) * 100 + i)
        fail("from nobody, element %d: %d", i, numbers[i]);
    if (held) MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&at_bottom);
  MPI_Type_free(&every_second);
  return finish();
}
