// Few slow calls among many quick ones: MPI_Recv by rank 1, and MPI_Allreduce by all, for which rank 0 comes late, or with a function of the
// program that takes long. Before that, on another communicator, a call of nothing and then a pause. Rank 1 prints how long it was in both,
// and in the slow ones of MPI_Allreduce, by its own clock.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

// Neither multiple of QUICK + 1 is in the sample (src/runtime/sample.hpp).
enum { QUICK = 5000, SLOW = 2, SLOW_US = 50000, PAUSE_US = 400000 };

static int takes_long;
static void sum_up(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
  if (takes_long) usleep(SLOW_US);
}

/// Adds the seconds in all calls, and in the slow ones.
static void reduce(int rank, MPI_Op op, MPI_Comm comm, double* all, double* slow_ones) {
  int value = 0, sum;
  for (int i = 0; i < SLOW * (QUICK + 1); ++i) {
    const int slow = i % (QUICK + 1) == QUICK;
    takes_long = slow && op != MPI_SUM;
    if (rank == 0 && slow && op == MPI_SUM) usleep(SLOW_US);
    const double begun = MPI_Wtime();
    MPI_Allreduce(&value, &sum, 1, MPI_INT, op, comm);
    const double seconds = MPI_Wtime() - begun;
    *all += seconds;
    if (slow) *slow_ones += seconds;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Bcast(&value, 0, MPI_INT, 0, copy);
  usleep(PAUSE_US);
  MPI_Bcast(&value, 1, MPI_INT, 0, copy);
  double receiving = 0;
  for (int i = 0; i < SLOW * (QUICK + 1); ++i) {
    if (rank == 0 && i % (QUICK + 1) == QUICK) usleep(SLOW_US);
    const double begun = MPI_Wtime();
    if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, copy);
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, copy, MPI_STATUS_IGNORE);
    receiving += MPI_Wtime() - begun;
  }
  MPI_Op op;
  MPI_Op_create(sum_up, 1, &op);
  double reducing = 0, slow = 0;
  reduce(rank, MPI_SUM, copy, &reducing, &slow);
  MPI_Comm other;
  MPI_Comm_dup(copy, &other);
  reduce(rank, op, other, &reducing, &slow);
  MPI_Comm_free(&other);
  MPI_Op_free(&op);
  if (rank == 1) printf("%.9f %.9f %.9f\n", receiving, reducing, slow);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
