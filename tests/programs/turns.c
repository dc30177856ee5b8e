// All ranks on one CPU: a function that waits for a message has to let the rank run that sends it, as often as messages
// are waited for. A host that spins meanwhile needs a time slice for each.
// With `inside`: the same in functions of the host that no nonblocking one can stand for.
#define _GNU_SOURCE
#include <sched.h>

#include "check.h"

#define ROUNDS 5000

static int rank, size, next, previous;

static void expect(int got, int round) {
  if (got != previous * 100000 + round) fail("round %d: got %d", round, got);
}

static void inside(void) {
  int memory = 0;
  MPI_Win window;
  MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int round = 0; round < ROUNDS / 5; ++round) {
    MPI_Comm half, copy;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_dup(half, &copy);
    MPI_Comm_free(&copy);
    MPI_Win_fence(0, window);
    MPI_Win_fence(0, window);
    int size_of_half;
    MPI_Comm_size(half, &size_of_half);
    if (size_of_half != (size + 1 - rank % 2) / 2) fail("round %d: %d in my half", round, size_of_half);
    MPI_Comm_free(&half);
  }
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size, previous = (rank + size - 1) % size;
  if (argc > 1 && strcmp(argv[1], "inside") == 0) {
    inside();
    return finish();
  }
  for (int round = 0; round < ROUNDS; ++round) {
    int mine = rank * 100000 + round, got[2] = {-1, -1}, index, done, indices[2];
    MPI_Status status;
    MPI_Request requests[2];
    switch (round % 8) {
      case 0:
        if (rank % 2 == 0) MPI_Send(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        MPI_Recv(got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, &status);
        if (rank % 2 != 0) MPI_Send(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        if (status.MPI_SOURCE != previous) fail("round %d: from %d", round, status.MPI_SOURCE);
        break;
      case 1:
        if (rank % 2 == 0) MPI_Ssend(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        MPI_Recv(got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        if (rank % 2 != 0) MPI_Ssend(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        break;
      case 2:
        MPI_Sendrecv(&mine, 1, MPI_INT, next, 0, got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
      case 3:
        MPI_Irecv(got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Send(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
      case 4:
        MPI_Irecv(got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
      case 5:
        MPI_Isend(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Probe(previous, 0, MPI_COMM_WORLD, &status);
        MPI_Recv(got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
      case 6:
        MPI_Irecv(got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Send(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
        if (index != 0) fail("round %d: index %d", round, index);
        break;
      default:
        MPI_Irecv(got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Send(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        MPI_Waitsome(1, requests, &done, indices, MPI_STATUSES_IGNORE);
        if (done != 1 || indices[0] != 0) fail("round %d: %d done", round, done);
    }
    expect(got[0], round);
  }
  return finish();
}
