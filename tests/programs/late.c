// A planted late rank, and one that computes longer than others: late LATE ROUNDS MICROSECONDS.
// Rank LATE comes so late to each of ROUNDS calls of MPI_Allreduce; MPI_Bcast from rank 0 and MPI_Gather to it follow at once.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void reduce_all(double* value, MPI_Comm comm) {
  double sum;
  MPI_Allreduce(value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  *value = sum;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int late = atoi(argv[1]), rounds = atoi(argv[2]), us = atoi(argv[3]);
  MPI_Init(&argc, &argv);
  int rank, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm copy, half;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  double value = rank;
  int number = rank;
  int* numbers = malloc(p * sizeof *numbers);
  for (int i = 0; i < rounds; ++i) {
    if (rank == late) usleep(us);
    reduce_all(&value, copy);
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(&number, 1, MPI_INT, numbers, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(half);
  }
  free(numbers);
  if (rank < 2 && p > 1)
    MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &number, 1, MPI_INT, 1 - rank, 0, copy, MPI_STATUS_IGNORE);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
