// A profiling tool, as MPI's profiling interface has it: a library that is loaded before the program, and counts calls.
#include <mpi.h>
#include <stdio.h>

static int inits, allreduces, barriers, waits;

int MPI_Init(int* argc, char*** argv) {
  ++inits;
  return PMPI_Init(argc, argv);
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++allreduces;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++waits;
  return PMPI_Wait(request, status);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("tool: rank %d: %d MPI_Init, %d MPI_Allreduce, %d MPI_Barrier, %d MPI_Wait\n", rank, inits, allreduces,
         barriers, waits);
  return PMPI_Finalize();
}
