// A program that limits its own address space once it runs, in one rank: allocations go on as on the stock MPI, and so do
// collectives of buffers that others have in memory which that rank has not mapped yet.
// As argument the OMNES_HEAP that it runs with.
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "mapped.h"

enum { bytes = 1 << 20, limit = 2000 };  // limit: MiB

static int rank, size;

// What every rank sends to the limited one, which is rank 0, and gets from it.
static void calls(char* buffer, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const int root = round % size;
    memset(buffer, rank == root ? round % 100 : 0, bytes);
    MPI_Bcast(buffer, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; i += 999)
      if (buffer[i] != round % 100) {
        fail("bcast %d: [%d] is %d", round, i, buffer[i]);
        return;
      }
  }
}

static char* allocated(const char* heap) {
  char* buffer = NULL;
  if (strcmp(heap, "alloc_mem") == 0)
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &buffer);
  else
    buffer = malloc(bytes);
  return buffer;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const heap = argc > 1 ? argv[1] : "";
  calls(allocated(heap), 300);
  if (rank == 0) {
    const struct rlimit addresses = {(rlim_t)limit << 20, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &addresses) != 0) fail("no limit can be set");
  }
  for (int i = 0; i < 8; ++i) {
    char* const buffer = allocated(heap);
    if (buffer == NULL) fail("no %d MiB more", bytes >> 20);
    calls(buffer, 100);
  }
  char* const much = malloc((size_t)limit / 2 << 20);
  if (much == NULL) fail("half of what it may have cannot be allocated");
  free(much);
  return finish();
}
