// MPIX_EQUAL, an operation that MPICH has beside MPI's: whether all ranks have the same, as one integer.
#include "check.h"

int main(int argc, char** argv) {
  int rank, p;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  for (int i = 0; i < 3; ++i) {
    int equal[4] = {-1, -1, -1, -1};
    MPI_Allreduce(&rank, &equal[0], 1, MPI_INT, MPIX_EQUAL, MPI_COMM_WORLD);
    MPI_Allreduce(&p, &equal[1], 1, MPI_INT, MPIX_EQUAL, MPI_COMM_WORLD);
    MPI_Reduce(&rank, &equal[2], 1, MPI_INT, MPIX_EQUAL, 0, MPI_COMM_WORLD);
    MPI_Reduce(&p, &equal[3], 1, MPI_INT, MPIX_EQUAL, 0, MPI_COMM_WORLD);
    if (equal[0] != 0 || equal[1] != 1) fail("allreduce: %d, %d", equal[0], equal[1]);
    if (rank == 0 && (equal[2] != 0 || equal[3] != 1)) fail("reduce: %d, %d", equal[2], equal[3]);
  }
  return finish();
}
