/* A library over an MPI, whose allreduce is wrong and whose longer broadcasts end the program. */
#include <mpi.h>
#include <stdlib.h>

enum { LONG = 100 };

int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  (void)send, (void)recv, (void)count, (void)type, (void)op;
  return PMPI_Barrier(comm);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (count > LONG) abort();
  return PMPI_Bcast(buffer, count, type, root, comm);
}
