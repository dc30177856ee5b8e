/* For omnes run --profile: few collectives on communicators of two sizes, to which the last rank comes late. */
#include <mpi.h>
#include <unistd.h>

enum { ROUNDS = 4, COUNT = 100, LATE_US = 2000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);

  double in[COUNT] = {0}, out[COUNT], gathered[COUNT];
  int counts[8], displs[8];
  for (int r = 0; r < size; ++r) counts[r] = r + 1, displs[r] = r * (r + 1) / 2;
  for (int round = 0; round < ROUNDS; ++round) {
    if (rank == size - 1) usleep(LATE_US);
    MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gatherv(in, rank + 1, MPI_DOUBLE, gathered, counts, displs, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(in, COUNT / 2, MPI_DOUBLE, 0, half);
  }
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
