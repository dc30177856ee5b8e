// Buffers that the ranks of a node map: those of MPI_Alloc_mem, and with OMNES_HEAP=shared ("shared" as argument) those of malloc.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "mapped.h"

static int rank, size;

static void expect_mapped(const void* address, int expected, const char* what) {
  if (is_mapped(address) != expected) fail("%s is %smapped by peers", what, expected ? "not " : "");
}

static void collectives(double* send, double* recv, int count) {
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i < count; ++i) send[i] = rank == root ? root + i : -1;
    MPI_Bcast(send, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
      if (send[i] != root + i) return fail("bcast of %d from %d: [%d] = %g", count, root, i, send[i]);
    for (int i = 0; i < count; ++i) send[i] = rank + i;
    MPI_Reduce(send, recv, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    for (int i = 0; rank == root && i < count; ++i)
      if (recv[i] != size * (size - 1) / 2 + (double)size * i)
        return fail("reduce of %d: [%d] = %g", count, i, recv[i]);
  }
  MPI_Request request;
  for (int i = 0; i < count; ++i) send[i] = rank + i;
  MPI_Iallreduce(send, recv, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i)
    if (recv[i] != size - 1 + i) return fail("iallreduce of %d: [%d] = %g", count, i, recv[i]);
  const int part = count / size;
  for (int i = 0; i < part * size; ++i) send[i] = 1000.0 * rank + i / part;
  MPI_Alltoall(send, part, MPI_DOUBLE, recv, part, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < part * size; ++i)
    if (recv[i] != 1000.0 * (i / part) + rank) return fail("alltoall of %d: [%d] = %g", part, i, recv[i]);
}

static void allocated_by_mpi(void) {
  for (int count = 10; count <= 1000000; count *= 10) {
    double *send, *recv;
    MPI_Alloc_mem(count * (MPI_Aint)sizeof(double), MPI_INFO_NULL, &send);
    MPI_Alloc_mem(count * (MPI_Aint)sizeof(double), MPI_INFO_NULL, &recv);
    if (count > 10000) expect_mapped(send, 1, "a large piece of MPI_Alloc_mem");
    collectives(send, recv, count);
    MPI_Free_mem(send);
    MPI_Free_mem(recv);
  }
}

// Buffers in the window of these ranks; the others have theirs elsewhere.
static void allocated_for_a_window(MPI_Comm of, int count) {
  const MPI_Aint bytes = 2 * count * (MPI_Aint)sizeof(double);
  double* base;
  MPI_Win window = MPI_WIN_NULL;
  if (of != MPI_COMM_NULL) {
    MPI_Win_allocate_shared(bytes, sizeof(double), MPI_INFO_NULL, of, &base, &window);
  } else {
    base = malloc(bytes);
  }
  collectives(base, base + count, count);
  if (of != MPI_COMM_NULL) {
    MPI_Win_free(&window);
    if (window != MPI_WIN_NULL) fail("a window was not freed");
  } else {
    free(base);
  }
}

static void windows(void) {
  MPI_Comm some;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, -rank, &some);
  for (int count = 1000; count <= 1000000; count *= 10) {
    allocated_for_a_window(MPI_COMM_WORLD, count);
    allocated_for_a_window(some, count);
  }
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
}

static void a_fork(double* data, int count) {
  for (int i = 0; i < count; ++i) data[i] = i;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < count; ++i)
      if (data[i] != i) _exit(1);
    for (int i = 0; i < count; ++i) data[i] = -1;
    free(malloc(1 << 20));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("a forked child saw other data");
  for (int i = 0; i < count; ++i)
    if (data[i] != i) return fail("a forked child wrote into its parent's data");
  if (system("exit 3") == -1) fail("system: %s", strerror(errno));
}

static void reallocation(int shared) {
  unsigned char* bytes = malloc(100);
  for (int i = 0; i < 100; ++i) bytes[i] = (unsigned char)i;
  const size_t lengths[] = {50000, 60000, 5000000, 40000, 200, 70000};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
    bytes = realloc(bytes, lengths[k]);
    for (int i = 0; i < 100; ++i)
      if (bytes[i] != i) return fail("realloc to %zu lost [%d]", lengths[k], i);
    expect_mapped(bytes, shared && lengths[k] >= 40000, "what realloc returned");
    if (malloc_usable_size(bytes) < lengths[k]) fail("too little room after realloc to %zu", lengths[k]);
    memset(bytes + 100, 255, lengths[k] - 100);
  }
  free(bytes);
  for (int round = 0; round < 3; ++round) {
    int* zeros = calloc(100000, sizeof *zeros);
    for (int i = 0; i < 100000; ++i)
      if (zeros[i] != 0) return fail("calloc returned %d at [%d]", zeros[i], i);
    memset(zeros, 255, 100000 * sizeof *zeros);
    free(zeros);
  }
  for (size_t alignment = 16; alignment <= 1 << 21; alignment *= 4) {
    void* piece = NULL;
    if (posix_memalign(&piece, alignment, 100000) != 0 || (uintptr_t)piece % alignment != 0)
      fail("posix_memalign at %zu returned %p", alignment, piece);
    expect_mapped(piece, shared, "what posix_memalign returned");
    free(piece);
    piece = aligned_alloc(alignment, 1 << 21);
    if ((uintptr_t)piece % alignment != 0) fail("aligned_alloc at %zu returned %p", alignment, piece);
    free(piece);
  }
  volatile size_t most = SIZE_MAX;
  if (malloc(most - 100000) != NULL || calloc(most / 2, 3) != NULL) fail("an impossible allocation succeeded");
}

int main(int argc, char** argv) {
  const int shared = argc > 1 && strcmp(argv[1], "shared") == 0;
  double* before = malloc(1000000 * sizeof *before);  // also what was there before MPI is mapped
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "only-windows") == 0) {
    windows();
    free(before);
    return finish();
  }
  allocated_by_mpi();
  windows();
  double* after = malloc(1000000 * sizeof *after);
  double* small = malloc(1000);
  expect_mapped(before, shared, "memory from before MPI_Init");
  expect_mapped(after, shared, "a large piece of malloc");
  expect_mapped(small, 0, "a small piece of malloc");
  for (int count = 1000; count <= 1000000; count *= 10) collectives(before, after, count);
  a_fork(after, 1000000);
  reallocation(shared);
  collectives(before, after, 100000);
  free(before);
  free(after);
  free(small);
  return finish();
}
