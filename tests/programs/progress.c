// A large message that was started before a barrier moves while its sender waits in the barrier: the receiver comes there only afterwards.
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  const int n = 1 << 23;
  char* data = calloc(n, 1);
  for (int i = 0; i < 3; ++i) {
    if (rank == 0) {
      MPI_Request requests[64];
      for (int to = 1; to < p; ++to) MPI_Isend(data, n, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[to]);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Waitall(p - 1, requests + 1, MPI_STATUSES_IGNORE);
    } else {
      MPI_Recv(data, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  free(data);
  return finish();
}
