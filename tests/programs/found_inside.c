// The first operation on a communicator goes on while a rank is inside another function of the MPI: ranks find each other there.
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  int rank, data = 0;
  MPI_Group all;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Win_create(&data, sizeof data, sizeof data, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < 4; ++i) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_create_group(MPI_COMM_WORLD, all, i, &comm);
    if (rank == 1) usleep(20000);
    MPI_Ibarrier(comm, &request);
    if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);  // the others are in the fence by then
    MPI_Win_fence(0, window);
    if (rank != 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
  }
  MPI_Win_free(&window);
  MPI_Group_free(&all);
  return finish();
}
