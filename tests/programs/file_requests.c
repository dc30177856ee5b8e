// Requests of files are completed together, while a collective is under way.
#include "check.h"

enum { writes = 10, ints = 4096 };

int main(int argc, char** argv) {
  static int data[ints], again[ints];
  char name[4096];
  int rank, got;
  MPI_File file;
  MPI_Request barrier, requests[writes];
  MPI_Status statuses[writes];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "%s-%d", argv[1], rank);
  for (int i = 0; i < ints; ++i) data[i] = rank + i;
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  for (int ignored = 0; ignored < 2; ++ignored) {
    if (rank == 0) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);  // the others come when rank 0 has waited for its file
    for (int i = 0; i < writes; ++i)
      MPI_File_iwrite_at(file, (MPI_Offset)i * sizeof data, data, ints, MPI_INT, &requests[i]);
    MPI_Waitall(writes, requests, ignored ? MPI_STATUSES_IGNORE : statuses);
    for (int i = 0; i < writes; ++i) {
      if (requests[i] != MPI_REQUEST_NULL) fail("request %d is still there", i);
      if (ignored) continue;
      MPI_Get_count(&statuses[i], MPI_INT, &got);
      if (got != ints) fail("write %d: %d numbers", i, got);
    }
    if (rank > 0) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < writes; ++i) {
    MPI_File_read_at(file, (MPI_Offset)i * sizeof data, again, ints, MPI_INT, MPI_STATUS_IGNORE);
    if (memcmp(data, again, sizeof data) != 0) fail("write %d: other numbers in the file", i);
  }
  MPI_File_close(&file);
  return finish();
}
