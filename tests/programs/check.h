// What the test programs share: failures are counted and named, and the exit code of every rank tells.
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Persistent collectives came with MPI 4; Open MPI 5 has them, though it says that it is MPI 3, and Open MPI 4.1 under other names.
#if defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION == 4
#include <mpi-ext.h>
#endif
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define HAS_PERSISTENT 1
#include "extension.h"
#elif MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif

static int failures = 0;

// Says what went wrong, at most a few times per rank.
__attribute__((unused)) static void fail(const char* format, ...) {
  if (++failures > 5) return;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "FAIL rank %d: ", rank);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
}

// For MPI_Op_create: the sums of integers.
__attribute__((unused)) static void add_ints(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

// Ends the program: rank 0 says OK when no rank has failed.
__attribute__((unused)) static int finish(void) {
  int all = 0, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("OK\n");
  MPI_Finalize();
  return failures > 0;
}

#endif
