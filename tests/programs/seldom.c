// Few slow calls among many quick ones: MPI_Recv by rank 1, and MPI_Allreduce by all, for which rank 0 comes late. Before that, on
// another communicator, a call of nothing and then a pause. Rank 1 prints how long it was in both, by its own clock.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { QUICK = 4999, SLOW = 2, SLOW_US = 100000, PAUSE_US = 400000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Bcast(&value, 0, MPI_INT, 0, copy);
  usleep(PAUSE_US);
  MPI_Bcast(&value, 1, MPI_INT, 0, copy);
  double receiving = 0, reducing = 0;
  for (int i = 0; i < SLOW * (QUICK + 1); ++i) {
    if (rank == 0 && i % (QUICK + 1) == QUICK) usleep(SLOW_US);
    const double begun = MPI_Wtime();
    if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, copy);
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, copy, MPI_STATUS_IGNORE);
    receiving += MPI_Wtime() - begun;
  }
  for (int i = 0; i < SLOW * (QUICK + 1); ++i) {
    if (rank == 0 && i % (QUICK + 1) == QUICK) usleep(SLOW_US);
    const double begun = MPI_Wtime();
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
    reducing += MPI_Wtime() - begun;
  }
  if (rank == 1) printf("%.9f %.9f\n", receiving, reducing);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
