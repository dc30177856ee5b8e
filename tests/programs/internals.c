// Collectives that the MPI makes inside itself: communicators, windows and files are made, together with its time for each.
//
// internals [ROUNDS]: with a number, prints microseconds.
#include "check.h"

static int rank, p, rounds = 3;

static double time_of(void (*make)(void)) {
  make();
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) make();
  return (MPI_Wtime() - begun) / rounds * 1e6;
}

static void split(void) {
  MPI_Comm made;
  int size, sum;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made);
  MPI_Comm_size(made, &size);
  if (size != (p + 1 - rank % 2) / 2) fail("split: %d ranks", size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
  if (sum % 2 != (rank % 2) * size % 2) fail("split: sum %d", sum);
  MPI_Comm_free(&made);
}

static void duplicate(void) {
  MPI_Comm made;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Comm_free(&made);
}

static void duplicate_beside(void) {
  MPI_Comm made;
  MPI_Request request;
  int sum;
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != p * (p - 1) / 2) fail("beside idup: sum %d", sum);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
}

static void window(void) {
  static int memory[4];
  MPI_Win made;
  const int value = rank;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
  MPI_Win_fence(0, made);
  MPI_Put(&value, 1, MPI_INT, (rank + 1) % p, 1, 1, MPI_INT, made);
  MPI_Win_fence(0, made);
  if (memory[1] != (rank + p - 1) % p) fail("window: %d", memory[1]);
  MPI_Win_free(&made);
}

static void file(void) {
  MPI_File opened;
  MPI_File_open(MPI_COMM_WORLD, "internals.file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &opened);
  int value = rank;
  MPI_File_write_at_all(opened, rank * (MPI_Offset)sizeof value, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&opened);
}

static void between(void) {
  MPI_Comm half, inter;
  int sum = 0, size = 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank < p / 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < p / 2 ? p / 2 : 0, 1, &inter);
  const int one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
  MPI_Comm_remote_size(inter, &size);
  if (sum != size) fail("between groups: sum %d", sum);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  if (argc > 1) rounds = atoi(argv[1]);
  const struct {
    const char* name;
    void (*make)(void);
  } all[] = {{"MPI_Comm_split", split},  {"MPI_Comm_dup", duplicate}, {"MPI_Comm_idup", duplicate_beside},
             {"MPI_Win_create", window}, {"MPI_File_open", file},     {"MPI_Intercomm_create", between}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    const double microseconds = time_of(all[i].make);
    if (rank == 0 && argc > 1) printf("%-22s %8.1f\n", all[i].name, microseconds);
  }
  return finish();
}
