// A rank alone asks for what cannot be made or freed, is told so, and all go on: communicators that are made later are the same on all ranks.
#include "check.h"

static void sum_right(const char* after, MPI_Comm comm) {
  int size, sum = 0;
  const int one = 1;
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != size) fail("after %s: sum %d of %d", after, sum, size);
}

static void dup_right(const char* after) {
  MPI_Comm dup;
  sum_right(after, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  sum_right(after, dup);
  MPI_Comm_free(&dup);
}

int main(int argc, char** argv) {
  int rank, code = MPI_ERR_OTHER;
  const int sizes[] = {1000000}, periods[] = {0};
  MPI_Comm comm, world = MPI_COMM_WORLD;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < 3; ++i) {
    dup_right("nothing");
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
    MPI_Comm_free(&comm);
  }
  if (rank == 0) code = MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periods, 0, &comm);
  if (code == MPI_SUCCESS) fail("a grid of a million ranks");
  dup_right("a grid");
#ifdef OMPI_MAJOR_VERSION  // MPICH takes any color
  if (rank == 0) code = MPI_Comm_split(MPI_COMM_WORLD, -77, 0, &comm);
  if (code == MPI_SUCCESS) fail("a negative color");
  dup_right("a split");
#endif
  if (rank == 0) code = MPI_Comm_free(&world);
  if (code == MPI_SUCCESS) fail("MPI_COMM_WORLD was freed");
  dup_right("a free");
  return finish();
}
