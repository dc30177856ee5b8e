// Calls that the MPI makes, too, as OMNES_CHECK=results has it. "memory" and "error": what omnes leaves to the MPI is made once, so that no
// copies are kept of it, and a handler is called once. "thread" and "late": a communicator is freed before the other rank begins an operation
// that is under way on it; what that rank waits for comes from another thread, or after the communicator is freed.
#include <pthread.h>
#include <time.h>

#include "check.h"

static int rank;
static MPI_Comm first, second;

static long resident_kib(void) {
  long all, resident;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2) fail("no /proc/self/statm");
  fclose(file);
  return resident * 4;
}

/// By the program's own operation, which omnes leaves to some MPIs; and with an error.
static void memory(void) {
  enum { ints = 1 << 18, calls = 60, some = 10 };
  int* const from = calloc(ints, sizeof(int));
  int* const to = calloc(ints, sizeof(int));
  long before = 0;
  MPI_Op op;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Op_create(add_ints, 1, &op);
  for (int i = 0; i < calls; ++i) {
    MPI_Request request;
    MPI_Iallreduce(from, to, ints, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (MPI_Iallreduce(from, to, ints, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
      fail("bits of numbers with a fraction");
    if (i == some) before = resident_kib();
  }
  const long grown = resident_kib() - before, of_copies = 2 * (calls - some) * (ints / 256);
  if (grown > of_copies / 4) fail("%ld KiB more than before", grown);
  MPI_Op_free(&op);
  free(from);
  free(to);
}

static int handled = 0;
static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}

/// An error is one, and the program's handler hears of it once.
static void error(void) {
  float from[4] = {0}, to[4];
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Allreduce(from, to, 4, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD);
  if (handled != 1) fail("allreduce: handler called %d times", handled);
  handled = 0;
  MPI_Iallreduce(from, to, 4, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD, &request);
  if (handled != 1) fail("iallreduce: handler called %d times", handled);
  MPI_Errhandler_free(&handler);
}

static void* go_on(void* unused) {
  (void)unused;
  int word = 0, sum = 0;
  MPI_Request request;
  if (rank == 0) MPI_Recv(&word, 1, MPI_INT, 1, 0, second, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, second, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(&word, 1, MPI_INT, 1, 1, second);
  return NULL;
}

static void thread(void) {
  pthread_t other;
  int word = 0, one = 1, sum = 0;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  if (rank == 0) {
    pthread_create(&other, NULL, go_on, NULL);
  } else {
    const struct timespec a_while = {.tv_nsec = 200000000};  // rank 0 is in MPI_Comm_free by then
    nanosleep(&a_while, NULL);
    MPI_Send(&word, 1, MPI_INT, 0, 0, second);
    go_on(NULL);
    MPI_Recv(&word, 1, MPI_INT, 0, 1, second, MPI_STATUS_IGNORE);
  }
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, first, &request);
  MPI_Comm_free(&first);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != 2) fail("a sum of %d", sum);
  if (rank == 0) pthread_join(other, NULL);
  MPI_Comm_free(&second);
}

static void late(void) {
  int word = 0, one = 1, sum = 0;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  if (rank == 1) MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, first, &request);
  MPI_Comm_free(&first);
  if (rank == 0) MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != 2) fail("a sum of %d", sum);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(argv[1], "memory") == 0) memory();
  if (strcmp(argv[1], "error") == 0) error();
  if (strcmp(argv[1], "thread") == 0) thread();
  if (strcmp(argv[1], "late") == 0) late();
  return finish();
}
