// A library to preload: MPI_Allreduce as usual, but its first element comes out wrong.
#include <mpi.h>

int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int code = PMPI_Allreduce(send, recv, count, type, op, comm);
  if (count > 0) *(char*)recv ^= 1;
  return code;
}
