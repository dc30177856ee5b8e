/* A library over an MPI that is right as long as one call repeats, on one communicator, with nothing beside it. */
#include <mpi.h>
#include <stdlib.h>

static int is_derived(MPI_Datatype type) {
  int integers, addresses, datatypes, combiner;
  PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
  return combiner != MPI_COMBINER_NAMED;
}

/* Sends never more than the first time, and of a program's own datatypes nothing. */
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static int first;
  if (is_derived(type)) return PMPI_Barrier(comm);
  if (first == 0) first = count;
  return PMPI_Bcast(buffer, count < first ? count : first, type, root, comm);
}

/* Where a rank has nothing, what others have is lost. */
int MPI_Allgatherv(const void* send, int count, MPI_Datatype type, void* recv, const int* counts, const int* displs,
                   MPI_Datatype recv_type, MPI_Comm comm) {
  int ranks;
  PMPI_Comm_size(comm, &ranks);
  for (int r = 0; r < ranks; ++r)
    if (counts[r] == 0) return PMPI_Barrier(comm);
  return PMPI_Allgatherv(send, count, type, recv, counts, displs, recv_type, comm);
}

/* Serves MPI_COMM_WORLD alone. */
int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (comm != MPI_COMM_WORLD) return PMPI_Barrier(comm);
  return PMPI_Allreduce(send, recv, count, type, op, comm);
}

/* In another order. */
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* fresh) {
  int rank;
  PMPI_Comm_rank(comm, &rank);
  return PMPI_Comm_split(comm, 0, -rank, fresh);
}

int MPI_Iallreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  (void)send, (void)recv, (void)count, (void)type, (void)op;
  return PMPI_Ibarrier(comm, request);
}

int MPI_Exscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  (void)send, (void)recv, (void)count, (void)type, (void)op;
  return PMPI_Barrier(comm);
}

/* Right at first. */
int MPI_Alltoall(const void* send, int count, MPI_Datatype type, void* recv, int recv_count, MPI_Datatype recv_type,
                 MPI_Comm comm) {
  static int calls;
  if (++calls > 2) return PMPI_Barrier(comm);
  return PMPI_Alltoall(send, count, type, recv, recv_count, recv_type, comm);
}
