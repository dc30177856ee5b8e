// Contributions that end with the call that starts the operation: MPI forbids that, but every MPI forgives it where they are small, as
// it has sent them by then.
#include <limits.h>

#include "check.h"

enum { PARTS = 8, PART = 50, INTS = PARTS * PART };  // most ranks; integers, 200 bytes; of a buffer

static int rank, p, last, count;
static MPI_Comm comm, ring;
static int counts[PARTS], displs[PARTS], byte_displs[PARTS];
static MPI_Aint far_displs[PARTS];
static MPI_Datatype types[PARTS];
static MPI_Op op;

// X(name of the blocking call, of the nonblocking one, arguments)
#define CASES(X)                                                                                                   \
  X(Bcast, Ibcast, (rank == last ? send : recv, count, MPI_INT, last, comm))                                       \
  X(Reduce, Ireduce, (send, recv, count, MPI_INT, op, last, comm))                                                 \
  X(Allreduce, Iallreduce, (send, recv, count, MPI_INT, op, comm))                                                 \
  X(Scan, Iscan, (send, recv, count, MPI_INT, op, comm))                                                           \
  X(Exscan, Iexscan, (send, recv, count, MPI_INT, op, comm))                                                       \
  X(Reduce_scatter_block, Ireduce_scatter_block, (send, recv, count, MPI_INT, op, comm))                           \
  X(Reduce_scatter, Ireduce_scatter, (send, recv, counts, MPI_INT, op, comm))                                      \
  X(Gather, Igather, (send, count, MPI_INT, recv, count, MPI_INT, last, comm))                                     \
  X(Scatter, Iscatter, (send, count, MPI_INT, recv, count, MPI_INT, last, comm))                                   \
  X(Allgather, Iallgather, (send, count, MPI_INT, recv, count, MPI_INT, comm))                                     \
  X(Alltoall, Ialltoall, (send, count, MPI_INT, recv, count, MPI_INT, comm))                                       \
  X(Gatherv, Igatherv, (send, count, MPI_INT, recv, counts, displs, MPI_INT, last, comm))                          \
  X(Scatterv, Iscatterv, (send, counts, displs, MPI_INT, recv, count, MPI_INT, last, comm))                        \
  X(Allgatherv, Iallgatherv, (send, count, MPI_INT, recv, counts, displs, MPI_INT, comm))                          \
  X(Alltoallv, Ialltoallv, (send, counts, displs, MPI_INT, recv, counts, displs, MPI_INT, comm))                   \
  X(Alltoallw, Ialltoallw, (send, counts, byte_displs, types, recv, counts, byte_displs, types, comm))             \
  X(Neighbor_allgather, Ineighbor_allgather, (send, count, MPI_INT, recv, count, MPI_INT, ring))                   \
  X(Neighbor_allgatherv, Ineighbor_allgatherv, (send, count, MPI_INT, recv, counts, displs, MPI_INT, ring))        \
  X(Neighbor_alltoall, Ineighbor_alltoall, (send, count, MPI_INT, recv, count, MPI_INT, ring))                     \
  X(Neighbor_alltoallv, Ineighbor_alltoallv, (send, counts, displs, MPI_INT, recv, counts, displs, MPI_INT, ring)) \
  X(Neighbor_alltoallw, Ineighbor_alltoallw, (send, counts, far_displs, types, recv, counts, far_displs, types, ring))

#define ARGUMENTS(...) __VA_ARGS__
#define BLOCKING(name, nonblocking_name, arguments) \
  static void blocking_##name(int* send, int* recv) { (void)send, MPI_##name arguments; }
CASES(BLOCKING)
#define NONBLOCKING(name, nonblocking_name, arguments)                   \
  static void begin_##name(int* send, int* recv, MPI_Request* request) { \
    (void)send, MPI_##nonblocking_name(ARGUMENTS arguments, request);    \
  }
CASES(NONBLOCKING)
#if HAS_PERSISTENT
#define PERSISTENT(name, nonblocking_name, arguments)                           \
  static void init_##name(int* send, int* recv, MPI_Request* request) {         \
    (void)send, MPI_##name##_init(ARGUMENTS arguments, MPI_INFO_NULL, request); \
  }
CASES(PERSISTENT)
#endif

typedef void begin(int*, int*, MPI_Request*);
static const struct {
  const char* name;
  void (*blocking)(int*, int*);
  begin *nonblocking, *persistent;
} cases[] = {
#if HAS_PERSISTENT
#define NAMED(name, nonblocking_name, arguments) {#name, blocking_##name, begin_##name, init_##name},
#else
#define NAMED(name, nonblocking_name, arguments) {#name, blocking_##name, begin_##name, NULL},
#endif
    CASES(NAMED)};

static void fill(int* send, int* recv, int seed) {
  for (int i = 0; i < INTS; ++i) send[i] = (i + 7 * rank + seed) % 1000, recv[i] = -1;
}

static void compare(const int* want, const int* got, int number, const char* form) {
  for (int i = 0; i < INTS; ++i)
    if (want[i] != got[i]) {
      fail("%s, %s, %d integers: element %d is %d, not %d", cases[number].name, form, count, i, got[i], want[i]);
      return;
    }
}

// The operation cannot begin before rank 0 comes to the barrier, which it does when the others have spoilt their
// contributions.
static void start_and_spoil(int number, int* send, int* recv, MPI_Request* request, int persistent) {
  MPI_Request barrier;
  if (rank == 0)
    for (int r = 1; r < p; ++r) MPI_Recv(NULL, 0, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Ibarrier(comm, &barrier);
  if (persistent)
    MPI_Start(request);
  else
    cases[number].nonblocking(send, recv, request);
  for (int i = 0; i < INTS; ++i) send[i] = INT_MIN / 2;
  if (rank > 0) MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void check(int number) {
  int send[INTS], want[INTS], got[INTS];
  MPI_Request request;
  fill(send, want, 0);
  cases[number].blocking(send, want);
  fill(send, got, 0);
  start_and_spoil(number, send, got, &request, 0);
  compare(want, got, number, "nonblocking");
  if (!cases[number].persistent) return;
  cases[number].persistent(send, got, &request);
  for (int seed = 1; seed < 3; ++seed) {
    fill(send, want, seed);
    cases[number].blocking(send, want);
    fill(send, got, seed);
    start_and_spoil(number, send, got, &request, 1);
    compare(want, got, number, "persistent");
  }
  MPI_Request_free(&request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  last = p - 1;
  const int around = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &p, &around, 0, &ring);
  comm = ring;  // operations of one communicator run one after the other
  MPI_Op_create(add_ints, 1, &op);
  for (count = 1; count <= PART; count += PART - 1) {
    for (int r = 0; r < PARTS; ++r) {
      counts[r] = count;
      displs[r] = r * count;
      far_displs[r] = byte_displs[r] = r * count * (int)sizeof(int);
      types[r] = MPI_INT;
    }
    for (int number = 0; number < (int)(sizeof cases / sizeof *cases); ++number) check(number);
  }
  MPI_Op_free(&op);
  MPI_Comm_free(&ring);
  return finish();
}
