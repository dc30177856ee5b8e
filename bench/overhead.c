/* What a call costs by itself, and what ranks that share CPUs spend on it; led by bench/overhead.

   overhead alone OPERATION BURSTS   of rank 0: calls that wait for nobody, since it only sends
   overhead together OPERATION CALLS   all ranks, in a loop

OPERATION: bcast, reduce, gather, scatter, allreduce, alltoall or barrier, of 8 bytes. Alone, rank 0 makes BURST calls in
a row, which fit the queues, then meets the others. Prints, as JSON, the seconds of a call in the fastest tenth of bursts;
or of a call in the loop, and how often it switched to another process, of all ranks. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BURST = 16, MOST_RANKS = 1024 };

static double sent[MOST_RANKS], received[MOST_RANKS];
static int ranks, rank;

static int other(void) { return ranks > 1 ? 1 : 0; }

/* Not inlined: what runs in here is counted. */
__attribute__((noinline)) void calls(const char* operation, int count) {
  const char first = operation[0], second = operation[1];
  for (int i = 0; i < count; ++i) {
    if (first == 'b' && second == 'c')
      MPI_Bcast(sent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else if (first == 'r')
      MPI_Reduce(sent, received, 1, MPI_DOUBLE, MPI_SUM, other(), MPI_COMM_WORLD);
    else if (first == 'g')
      MPI_Gather(sent, 1, MPI_DOUBLE, received, 1, MPI_DOUBLE, other(), MPI_COMM_WORLD);
    else if (first == 's')
      MPI_Scatter(sent, 1, MPI_DOUBLE, received, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else if (strcmp(operation, "allreduce") == 0)
      MPI_Allreduce(sent, received, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (first == 'a')
      MPI_Alltoall(sent, 1, MPI_DOUBLE, received, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    else
      MPI_Barrier(MPI_COMM_WORLD);
  }
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void alone(const char* operation, int bursts) {
  double* times = malloc(sizeof(double) * bursts);
  for (int i = 0; i < bursts; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    calls(operation, BURST);
    times[i] = (MPI_Wtime() - begin) / BURST;
  }
  qsort(times, bursts, sizeof *times, by_size);
  if (rank == 0) printf("{\"seconds\": %.9e}\n", times[bursts / 10]);
  free(times);
}

static void together(const char* operation, int count) {
  struct rusage before, after;
  calls(operation, count / 10);
  MPI_Barrier(MPI_COMM_WORLD);
  getrusage(RUSAGE_SELF, &before);
  const double begin = MPI_Wtime();
  calls(operation, count);
  double mine[2] = {MPI_Wtime() - begin}, most, sum;
  getrusage(RUSAGE_SELF, &after);
  mine[1] = after.ru_nvcsw - before.ru_nvcsw + after.ru_nivcsw - before.ru_nivcsw;
  MPI_Reduce(&mine[0], &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine[1], &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("{\"seconds\": %.9e, \"switches\": %.3f}\n", most / count, sum / count);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || ranks > MOST_RANKS) {
    if (rank == 0) fprintf(stderr, "usage: overhead alone|together OPERATION COUNT, on at most %d ranks\n", MOST_RANKS);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  (strcmp(argv[1], "alone") == 0 ? alone : together)(argv[2], atoi(argv[3]));
  MPI_Finalize();
  return 0;
}
