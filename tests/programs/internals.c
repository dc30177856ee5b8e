// Collectives that the MPI makes inside itself: communicators, windows and files are made, used and freed.
//
// internals [ROUNDS]: with a number, prints the microseconds of each call, the mean of all ranks.
#include "check.h"

enum {
  comm_split,
  comm_dup,
  comm_idup,
  comm_free,
  win_create,
  win_fence,
  win_free,
  file_open,
  intercomm_create,
  timed
};
static const char* const names[timed] = {"MPI_Comm_split", "MPI_Comm_dup",   "MPI_Comm_idup",
                                         "MPI_Comm_free",  "MPI_Win_create", "MPI_Win_fence",
                                         "MPI_Win_free",   "MPI_File_open",  "MPI_Intercomm_create"};
static double seconds[timed];
static int calls[timed], counted;  // counted: not the first of its kind, which takes longer
#define TIMED(which, ...)                  \
  do {                                     \
    const double begun = MPI_Wtime();      \
    __VA_ARGS__;                           \
    if (!counted) break;                   \
    seconds[which] += MPI_Wtime() - begun; \
    ++calls[which];                        \
  } while (0)

static int rank, p;

static void split(void) {
  MPI_Comm made;
  int size, sum;
  TIMED(comm_split, MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made));
  MPI_Comm_size(made, &size);
  if (size != (p + 1 - rank % 2) / 2) fail("split: %d ranks", size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
  if (sum % 2 != (rank % 2) * size % 2) fail("split: sum %d", sum);
  MPI_Comm_free(&made);
}

static void duplicate(void) {
  MPI_Comm made;
  TIMED(comm_dup, MPI_Comm_dup(MPI_COMM_WORLD, &made));
  TIMED(comm_free, MPI_Comm_free(&made));
}

static void duplicate_beside(void) {
  MPI_Comm made;
  MPI_Request request;
  int sum;
  TIMED(comm_idup, MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (sum != p * (p - 1) / 2) fail("beside idup: sum %d", sum);
  MPI_Comm_free(&made);
}

static void window(void) {
  static int memory[4];
  MPI_Win made;
  const int value = rank;
  TIMED(win_create, MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &made));
  TIMED(win_fence, MPI_Win_fence(0, made));
  MPI_Put(&value, 1, MPI_INT, (rank + 1) % p, 1, 1, MPI_INT, made);
  TIMED(win_fence, MPI_Win_fence(0, made));
  if (memory[1] != (rank + p - 1) % p) fail("window: %d", memory[1]);
  TIMED(win_free, MPI_Win_free(&made));
}

static void file(void) {
  MPI_File opened;
  TIMED(file_open, MPI_File_open(MPI_COMM_WORLD, "internals.file",
                                 MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &opened));
  int value = rank;
  MPI_File_write_at_all(opened, rank * (MPI_Offset)sizeof value, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&opened);
}

static void between(void) {
  MPI_Comm half, inter;
  int sum = 0, size = 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank < p / 2, rank, &half);
  TIMED(intercomm_create, MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < p / 2 ? p / 2 : 0, 1, &inter));
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
  const int rounds = argc > 1 ? atoi(argv[1]) : 3;
  void (*const makers[])(void) = {split, duplicate, duplicate_beside, window, file, between};
  for (size_t i = 0; i < sizeof makers / sizeof *makers; ++i) {
    for (int round = 0; round <= rounds; ++round) {
      counted = round > 0;
      makers[i]();
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds, timed, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int which = 0; rank == 0 && argc > 1 && which < timed; ++which)
    printf("%-22s %8.1f\n", names[which], seconds[which] / p / calls[which] * 1e6);
  return finish();
}
