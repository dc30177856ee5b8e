/* A library over an MPI that writes the counts and the root of each broadcast, and what each alltoallv sends and
   receives, to the file RECORD-<rank>. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static FILE* record(void) {
  static FILE* file;
  int rank;
  char path[4096];
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s-%d", getenv("RECORD"), rank);
  if (file == NULL) file = fopen(path, "w");
  if (file == NULL) abort();
  setlinebuf(file);
  return file;
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  fprintf(record(), "bcast %d %d\n", count, root);
  return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Alltoallv(const void* send, const int* counts, const int* displs, MPI_Datatype type, void* recv,
                  const int* recv_counts, const int* recv_displs, MPI_Datatype recv_type, MPI_Comm comm) {
  int ranks;
  PMPI_Comm_size(comm, &ranks);
  fprintf(record(), "alltoallv");
  for (int r = 0; r < 2 * ranks; ++r) fprintf(record(), " %d", r < ranks ? counts[r] : recv_counts[r - ranks]);
  fprintf(record(), "\n");
  return PMPI_Alltoallv(send, counts, displs, type, recv, recv_counts, recv_displs, recv_type, comm);
}
