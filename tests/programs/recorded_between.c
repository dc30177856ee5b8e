// Collective calls of all kinds between groups of 3 and 2 ranks: what a trace of it has to hold is written in
// tests/test_replay.py.
#include <mpi.h>

enum { most = 4096, groups = 2, all = 6 };  // all: elements of a reduce_scatter

static int group, rank, own, remote;
static int from[most], to[most];
static MPI_Comm inter;

/// The root is rank `number` of group `of`.
static int root(int of, int number) { return of != group ? number : number == rank ? MPI_ROOT : MPI_PROC_NULL; }

static void equal(void) {
  MPI_Barrier(inter);
  MPI_Bcast(from, 10, MPI_INT, root(0, 1), inter);
  MPI_Bcast(from, 20, MPI_INT, root(1, 0), inter);
  MPI_Bcast(from, 0, MPI_INT, root(0, 2), inter);
  MPI_Reduce(from, to, 5, MPI_INT, MPI_MAX, root(1, 1), inter);
  MPI_Allreduce(from, to, 7, MPI_DOUBLE, MPI_SUM, inter);
  MPI_Gather(from, 3, MPI_INT, to, 3, MPI_INT, root(0, 1), inter);
  MPI_Scatter(from, 3, MPI_INT, to, 3, MPI_INT, root(1, 1), inter);
  MPI_Allgather(from, 4 - group, MPI_INT, to, 3 + group, MPI_INT, inter);
  MPI_Alltoall(from, 2 - group, MPI_INT, to, 1 + group, MPI_INT, inter);
  MPI_Reduce_scatter_block(from, to, all / own, MPI_INT, MPI_MIN, inter);
}

static void unequal(void) {
  int counts[8], displs[8], sent[8], sent_displs[8], bytes[8], bytes_sent[8];
  MPI_Datatype types[8];
  for (int r = 0; r < remote; r++) {  // rank i of each group has i + 1 elements
    counts[r] = r + 1;
    displs[r] = 20 * r;
    sent[r] = rank + 1;
    sent_displs[r] = 10 * r;
    bytes[r] = 4 * displs[r];
    bytes_sent[r] = 4 * sent_displs[r];
    types[r] = MPI_INT;
  }
  MPI_Allgatherv(from, rank + 1, MPI_INT, to, counts, displs, MPI_INT, inter);
  MPI_Gatherv(from, rank + 1, MPI_INT, to, counts, displs, MPI_INT, root(0, 1), inter);
  MPI_Scatterv(from, counts, displs, MPI_INT, to, rank + 1, MPI_INT, root(1, 1), inter);
  MPI_Alltoallv(from, sent, sent_displs, MPI_INT, to, counts, displs, MPI_INT, inter);
  MPI_Alltoallw(from, sent, bytes_sent, types, to, counts, bytes, types, inter);
  const int parts[groups][3] = {{1, 2, 3}, {2, 4}};
  MPI_Reduce_scatter(from, to, parts[group], MPI_INT, MPI_SUM, inter);
}

static void unblocked(void) {
  MPI_Request requests[3], one;
  MPI_Iallreduce(from, to, 9, MPI_INT, MPI_SUM, inter, &requests[0]);
  MPI_Ibcast(from + most / 2, 9, MPI_INT, root(1, 0), inter, &requests[1]);
  MPI_Iallgather(from, 2, MPI_INT, to + most / 2, 2, MPI_INT, inter, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_Ibarrier(inter, &one);
  for (int done = 0; !done;) MPI_Test(&one, &done, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Bcast_init(from, 2, MPI_INT, root(0, 0), inter, MPI_INFO_NULL, &one);
  for (int start = 0; start < 2; start++) {
    MPI_Start(&one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&one);
#endif
}

/// What a replay checks: of each communicator's first call, the result.
static void twins(void) {
  MPI_Comm twin;
  MPI_Comm_dup(inter, &twin);
  MPI_Bcast(from, 3, MPI_INT, root(1, 1), twin);
  MPI_Comm_free(&twin);
  MPI_Comm_dup(inter, &twin);
  MPI_Allgather(from, 1 + group, MPI_INT, to, 2 - group, MPI_INT, twin);
  MPI_Comm_free(&twin);
  MPI_Comm_dup(inter, &twin);
  MPI_Allreduce(from, to, 3, MPI_DOUBLE, MPI_SUM, twin);
  MPI_Comm_free(&twin);
}

int main(int argc, char** argv) {
  int world_rank;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  group = world_rank % groups;
  MPI_Comm_split(MPI_COMM_WORLD, group, -world_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, group == 0 ? 3 : 4, 0, &inter);
  MPI_Comm_free(&half);
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &own);
  MPI_Comm_remote_size(inter, &remote);
  equal();
  unequal();
  unblocked();
  twins();
  MPI_Comm_free(&inter);
  MPI_Finalize();
  return 0;
}
