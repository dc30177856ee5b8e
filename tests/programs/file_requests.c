// Requests of files are completed together, while a collective is under way.
#include "check.h"

enum { writes = 10, ints = 4096 };

// Rank 0 completes a write by all and an operation together, the others one after the other. Nobody waits in vain: some MPIs
// move the request of a file only when it is tested.
static void write_beside_an_operation(const char* name, int rank, int write_first, int testing) {
  static int data[ints];
  MPI_File file;
  MPI_Info info;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Datatype every_pth;
  int ranks, sum = 0, flag = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file);
  MPI_Type_vector(ints, 1, ranks, MPI_INT, &every_pth);
  MPI_Type_commit(&every_pth);
  MPI_File_set_view(file, (MPI_Offset)rank * sizeof(int), MPI_INT, every_pth, "native", info);
  MPI_Request *const write = &requests[!write_first], *const operation = &requests[write_first];
  if (rank == 0) {
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, operation);
    MPI_File_iwrite_all(file, data, ints, MPI_INT, write);
    while (testing && !flag) MPI_Testall(2, requests, &flag, statuses);
    if (!testing) MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[!write_first], MPI_INT, &flag);
    if (flag != ints) fail("write by all: %d numbers", flag);
  } else {
    MPI_File_iwrite_all(file, data, ints, MPI_INT, write);
    MPI_Wait(write, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, operation);
    MPI_Wait(operation, MPI_STATUS_IGNORE);
  }
  if (sum != ranks * (ranks - 1) / 2) fail("a sum of %d", sum);
  MPI_File_close(&file);
  MPI_Type_free(&every_pth);
  MPI_Info_free(&info);
}

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
  for (int way = 0; way < 4; ++way) write_beside_an_operation(argv[1], rank, way % 2, way / 2);
  return finish();
}
