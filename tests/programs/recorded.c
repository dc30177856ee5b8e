// All kinds of collective calls, a few of each: what a trace of it has to hold is written in tests/test_replay.py.
#include <mpi.h>
#include <stdlib.h>

enum { most = 4096 };

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int*)inout)[i] += ((int*)in)[i];
}

static int rank, size;
static int from[most], to[most];

static void blocking(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (int root = 0; root < size; root++) MPI_Bcast(from, 10 * (root + 1), MPI_INT, root, MPI_COMM_WORLD);
  MPI_Reduce(from, to, 5, MPI_INT, MPI_MAX, 1, MPI_COMM_WORLD);
  MPI_Allreduce(from, to, 7, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, to, 7, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(from, 3, MPI_INT, to, 3, MPI_INT, 2, MPI_COMM_WORLD);
  MPI_Scatter(from, 3, MPI_INT, to, 3, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Allgather(from, 4, MPI_INT, to, 4, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(from, 2, MPI_INT, to, 2, MPI_INT, MPI_COMM_WORLD);
  MPI_Scan(from, to, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Exscan(from, to, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(from, to, 3, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce(from, to, 6, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Op_free(&op);
}

static void unequal(void) {
  int counts[8], displs[8], own[8], own_displs[8];
  for (int call = 1; call <= 2; call++) {
    for (int r = 0; r < size; r++) {
      counts[r] = call * (r + 1);
      displs[r] = 20 * r;
      own[r] = call * (rank + 1);
      own_displs[r] = 10 * r;
    }
    MPI_Allgatherv(from, counts[rank], MPI_INT, to, counts, displs, MPI_INT, MPI_COMM_WORLD);
    MPI_Gatherv(from, counts[rank], MPI_INT, to, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(from, counts, displs, MPI_INT, to, counts[rank], MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Alltoallv(from, own, own_displs, MPI_INT, to, counts, displs, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter(from, to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Reduce_scatter(MPI_IN_PLACE, to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void unblocked(void) {
  MPI_Request requests[2], one;
  MPI_Iallreduce(from, to, 9, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Ibcast(from + most / 2, 9, MPI_INT, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Ibarrier(MPI_COMM_WORLD, &one);
  for (int done = 0; !done;) MPI_Test(&one, &done, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Allreduce_init(from, to, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &one);
  for (int start = 0; start < 2; start++) {
    MPI_Start(&one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&one);
  long place = 0;
  (void)place;
  MPI_Bcast_c(from, (MPI_Count)11, MPI_INT, 0, MPI_COMM_WORLD);
#endif
}

static void communicators(void) {
  MPI_Comm dup, half, group_comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Bcast(from, 1, MPI_INT, 0, dup);
  MPI_Comm_split(dup, rank == 1 ? MPI_UNDEFINED : 0, -rank, &half);
  if (half != MPI_COMM_NULL) {
    MPI_Allreduce(from, to, 1, MPI_INT, MPI_SUM, half);
    MPI_Comm_free(&half);
  }
  MPI_Comm_free(&dup);
  MPI_Group world, some;
  const int members[2] = {0, 1};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, members, &some);
  if (rank < 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 7, &group_comm);
    MPI_Allreduce(from, to, 2, MPI_INT, MPI_SUM, group_comm);
    MPI_Comm_free(&group_comm);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&world);
  const int around = 1;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &around, 0, &ring);
  MPI_Neighbor_allgather(from, 2, MPI_INT, to, 2, MPI_INT, ring);
  MPI_Comm_free(&ring);
  MPI_Bcast(from, 2, MPI_INT, 0, MPI_COMM_SELF);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  blocking();
  unequal();
  unblocked();
  communicators();
  MPI_Finalize();
  return 0;
}
