/* A job that computes and combines by turns, for bench/run jobs.

usage: jobs BYTES WORK STEPS
In each step some WORK dependent multiplications and additions (about 4 cycles each), then an allreduce of so many bytes of doubles. Prints the
seconds that all steps took the slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double compute(long work) {
  double x = 1;
  for (long i = 0; i < work; ++i) x = x * 1.0000001 + 1e-9;
  return x;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int count = atoi(argv[1]) / (int)sizeof(double), steps = atoi(argv[3]);
  const long work = atol(argv[2]);
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double* const own = calloc(count, sizeof *own);
  double* const sum = calloc(count, sizeof *sum);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < steps; ++i) {
    own[0] = compute(work);
    MPI_Allreduce(own, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  const double own_seconds = MPI_Wtime() - begin;
  double seconds;
  MPI_Reduce(&own_seconds, &seconds, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f\n", seconds);
  free(own);
  free(sum);
  MPI_Finalize();
  return 0;
}
