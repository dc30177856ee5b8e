// A program that uses the same buffers again and again, which adopts them, and does all that programs do with their memory:
// frees and resizes it, forks, discards and moves pages, reads what it sends from another thread.
// Arguments: yes where buffers have to come into a heap, no where they must not, perhaps; and how many doubles each has.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "mapped.h"

enum { rounds = 80 };

static int rank, size, count = 40000;  // doubles: 312 KiB, no multiple of a page

static void expect(const double* data, int n, double first, double step, const char* what, int round) {
  for (int i = 0; i < n; ++i)
    if (data[i] != first + step * i) {
      fail("%s in round %d: [%d] = %g instead of %g", what, round, i, data[i], first + step * i);
      return;
    }
}

static void one_round(double* send, double* recv, int n, int round) {
  const int root = round % size, part = n / size;
  MPI_Comm world = MPI_COMM_WORLD;
  for (int i = 0; i < n; ++i) send[i] = rank == root ? round + i : -1;
  MPI_Bcast(send, n, MPI_DOUBLE, root, world);
  expect(send, n, round, 1, "bcast", round);

  for (int i = 0; i < n; ++i) send[i] = rank + i;
  MPI_Allreduce(send, recv, n, MPI_DOUBLE, MPI_SUM, world);
  expect(recv, n, size * (size - 1) / 2, size, "allreduce", round);
  expect(send, n, rank, 1, "what was sent", round);
  MPI_Allreduce(MPI_IN_PLACE, recv, n, MPI_DOUBLE, MPI_MAX, world);
  expect(recv, n, size * (size - 1) / 2, size, "allreduce in place", round);

  memset(recv, 0, n * sizeof *recv);
  MPI_Reduce(send, recv, n, MPI_DOUBLE, MPI_SUM, root, world);
  if (rank == root) expect(recv, n, size * (size - 1) / 2, size, "reduce", round);

  for (int i = 0; i < part * size; ++i) send[i] = 1000.0 * rank + i / part;
  MPI_Alltoall(send, part, MPI_DOUBLE, recv, part, MPI_DOUBLE, world);
  for (int from = 0; from < size; ++from) expect(recv + from * part, part, 1000.0 * from + rank, 0, "alltoall", round);

  MPI_Request requests[2];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  memset(recv, 0, n * sizeof *recv);
  MPI_Iallgather(send, part, MPI_DOUBLE, recv, part, MPI_DOUBLE, world, &requests[0]);
  MPI_Isend(send, part, MPI_DOUBLE, to, 5, world, &requests[1]);  // of the same buffer, by the MPI itself
  double* other = malloc(part * sizeof *other);
  MPI_Recv(other, part, MPI_DOUBLE, from, 5, world, MPI_STATUS_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int r = 0; r < size; ++r) expect(recv + r * part, part, 1000.0 * r, 0, "iallgather", round);
  expect(other, part, 1000.0 * from, 0, "a message", round);
  free(other);

  MPI_Gather(send, part, MPI_DOUBLE, recv, part, MPI_DOUBLE, root, world);
  if (rank == root)
    for (int r = 0; r < size; ++r) expect(recv + r * part, part, 1000.0 * r, 0, "gather", round);
  MPI_Scatter(recv, part, MPI_DOUBLE, send, part, MPI_DOUBLE, root, world);
  expect(send, part, 1000.0 * rank, 0, "scatter", round);
}

static void* read_all_the_time(void* buffer) {
  volatile double* data = buffer;
  volatile int* stop = (volatile int*)(data + count);
  while (!*stop)
    for (int i = 0; i < count; ++i)
      if (data[i] != i) return "a thread that reads what is sent saw something else";
  return NULL;
}

static void read_meanwhile(void) {
  double* send = malloc((count + 1) * sizeof *send);
  double* recv = malloc(count * sizeof *recv);
  for (int i = 0; i < count; ++i) send[i] = i;
  *(int*)(send + count) = 0;
  pthread_t reader;
  pthread_create(&reader, NULL, read_all_the_time, send);
  for (int round = 0; round < rounds; ++round) {
    MPI_Allreduce(send, recv, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(recv, count, 0, size, "allreduce while another thread reads", round);
  }
  *(volatile int*)(send + count) = 1;
  void* wrong;
  pthread_join(reader, &wrong);
  if (wrong) fail("%s", (char*)wrong);
  free(send);
  free(recv);
}

static void a_fork(double* data) {
  for (int i = 0; i < count; ++i) data[i] = i;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < count; ++i)
      if (data[i] != i) _exit(1);
    for (int i = 0; i < count; ++i) data[i] = -1;
    data = realloc(data, 4 * count * sizeof *data);
    free(data);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("a forked child saw other data");
  expect(data, count, 0, 1, "what a child has written to", 0);
}

// With memory that the program has from the system.
static void pages_of_its_own(void) {
  const size_t bytes = 2 * count * sizeof(double);
  double* data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int round = 0; round < rounds; ++round) one_round(data, data + count, count, round);
  for (int i = 0; i < 2 * count; ++i) data[i] = i;
  madvise((char*)data + 40960, 81920, MADV_DONTNEED);
  for (size_t i = 0; i < bytes / sizeof(double); ++i)
    if (data[i] != (i * 8 >= 40960 && i * 8 < 40960 + 81920 ? 0 : i)) {
      fail("after MADV_DONTNEED [%zu] = %g", i, data[i]);
      break;
    }
  for (int round = 0; round < rounds; ++round) one_round(data, data + count, count, round);
  for (int i = 0; i < 2 * count; ++i) data[i] = i;
  double* moved = mremap(data, bytes, 2 * bytes, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) {
    fail("mremap failed");
    return;
  }
  expect(moved, 2 * count, 0, 1, "moved memory", 0);
  for (int round = 0; round < rounds; ++round) one_round(moved, moved + 2 * count, count, round);
  munmap(moved, 2 * bytes);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int no = argc > 1 && strcmp(argv[1], "no") == 0, yes = argc > 1 && strcmp(argv[1], "yes") == 0;
  if (argc > 2) count = atoi(argv[2]);
  double* send = malloc(count * sizeof *send);
  double* recv = malloc(count * sizeof *recv);
  // How often is often enough, each rank finds out for itself.
  int found = 0, all = 0;
  for (int batch = 0; batch < (no ? 1 : yes ? 200 : 20) && all < 2; ++batch) {
    for (int round = 0; round < rounds; ++round) one_round(send, recv, count, round);
    found = is_mapped(send + count / 2) + is_mapped(recv + count / 2);
    MPI_Allreduce(&found, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  if ((yes && found != 2) || (no && found != 0)) fail("of two buffers %d are mapped by peers", found);
  a_fork(send);
  a_fork(recv);
  for (int round = 0; round < rounds; ++round) one_round(send, recv, count, round);

  // Freed, and others come in their places; resized.
  for (int again = 0; again < 20; ++again) {
    free(send);
    send = calloc(count + again * 100, sizeof *send);
    expect(send, count, 0, 0, "new memory", again);
    recv = realloc(recv, (count + again * 1000) * sizeof *recv);
    for (int round = 0; round < 10; ++round) one_round(send, recv, count, round);
    if (again % 4 == 0) malloc_trim(0);
  }
  for (int n = count; n > 1000; n /= 2)
    for (int round = 0; round < 5; ++round) one_round(send, recv, n, round);
  free(send);
  free(recv);
  read_meanwhile();
  pages_of_its_own();
  return finish();
}
