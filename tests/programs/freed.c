// Another thread frees a datatype and an operation while a blocking call uses them, and makes others, whose handles may be the same: the
// call ends as if nothing had happened, and the next one finds what its handles stand for by then.
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "check.h"

enum { PARTS = 4, INTS = 256 };  // most ranks; of a buffer

static int rank, p;
static MPI_Comm comm, ring, words;

static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < 8 * *n; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
static void take_larger(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < 8 * *n; ++i)
    if (((int*)inout)[i] < ((int*)in)[i]) ((int*)inout)[i] = ((int*)in)[i];
}

// Every type has an extent of 8 integers; so have the elements that the functions above combine.
static MPI_Datatype type_of(int kind) {
  const int lengths[] = {8, 1, 2}, strides[] = {8, 3, 5};
  MPI_Datatype blocks, type;
  MPI_Type_vector(kind == 0 ? 1 : 2, lengths[kind], strides[kind], MPI_INT, &blocks);
  if (kind == 0) {
    MPI_Type_free(&blocks);
    MPI_Type_contiguous(8, MPI_INT, &blocks);
  }
  MPI_Type_create_resized(blocks, 0, 8 * sizeof(int), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&blocks);
  return type;
}

static const int ones[PARTS] = {1, 1, 1, 1}, parts[PARTS] = {0, 1, 2, 3};

// Rank 1 waits for rank 0 in each.
#define CASES(X)                                                                          \
  X(bcast, MPI_Bcast(recv, 2, t, 0, comm))                                                \
  X(reduce, MPI_Reduce(send, recv, 2, t, op, 1 % p, comm))                                \
  X(allreduce, MPI_Allreduce(send, recv, 2, t, op, comm))                                 \
  X(scan, MPI_Scan(send, recv, 2, t, op, comm))                                           \
  X(exscan, MPI_Exscan(send, recv, 2, t, op, comm))                                       \
  X(reduce_scatter_block, MPI_Reduce_scatter_block(send, recv, 1, t, op, comm))           \
  X(reduce_scatter, MPI_Reduce_scatter(send, recv, ones, t, op, comm))                    \
  X(gather, MPI_Gather(send, 1, t, recv, 1, t, 1 % p, comm))                              \
  X(scatter, MPI_Scatter(send, 1, t, recv, 1, t, 0, comm))                                \
  X(allgather, MPI_Allgather(send, 1, t, recv, 1, t, comm))                               \
  X(alltoall, MPI_Alltoall(send, 1, t, recv, 1, t, comm))                                 \
  X(gatherv, MPI_Gatherv(send, 1, t, recv, ones, parts, t, 1 % p, comm))                  \
  X(scatterv, MPI_Scatterv(send, ones, parts, t, recv, 1, t, 0, comm))                    \
  X(allgatherv, MPI_Allgatherv(send, 1, t, recv, ones, parts, t, comm))                   \
  X(alltoallv, MPI_Alltoallv(send, ones, parts, t, recv, ones, parts, t, comm))           \
  X(neighbor_allgather, MPI_Neighbor_allgather(send, 1, t, recv, 1, t, ring))             \
  X(neighbor_allgatherv, MPI_Neighbor_allgatherv(send, 1, t, recv, ones, parts, t, ring)) \
  X(neighbor_alltoall, MPI_Neighbor_alltoall(send, 1, t, recv, 1, t, ring))               \
  X(neighbor_alltoallv, MPI_Neighbor_alltoallv(send, ones, parts, t, recv, ones, parts, t, ring))

#define FUNCTION(name, call) \
  static void name(const int* send, int* recv, MPI_Datatype t, MPI_Op op) { (void)send, (void)op, call; }
CASES(FUNCTION)

static void alltoallw(const int* send, int* recv, MPI_Datatype t, MPI_Op op) {
  const int displs[PARTS] = {0, 32, 64, 96};
  const MPI_Datatype types[PARTS] = {t, t, t, t};
  (void)op;
  MPI_Alltoallw(send, ones, displs, types, recv, ones, displs, types, comm);
}
static void neighbor_alltoallw(const int* send, int* recv, MPI_Datatype t, MPI_Op op) {
  const MPI_Aint displs[PARTS] = {0, 32, 64, 96};
  const MPI_Datatype types[PARTS] = {t, t, t, t};
  (void)op;
  MPI_Neighbor_alltoallw(send, ones, displs, types, recv, ones, displs, types, ring);
}

typedef void call(const int*, int*, MPI_Datatype, MPI_Op);
#define NAMED(name, call) {#name, name},
static const struct {
  const char* name;
  call* make;
} cases[] = {CASES(NAMED){"alltoallw", alltoallw}, {"neighbor_alltoallw", neighbor_alltoallw}};

static void run(call* make, int* recv, MPI_Datatype t, MPI_Op op) {
  int send[INTS];
  for (int i = 0; i < INTS; ++i) send[i] = 1000 * (rank + 1) + i, recv[i] = rank == 0 ? send[i] : -1;
  make(send, recv, t, op);
}

static clockid_t clock_of_caller;
static volatile int entering;

static double seconds_of_caller(void) {
  struct timespec now;
  clock_gettime(clock_of_caller, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

struct objects {
  MPI_Datatype type;
  MPI_Op op;
};

// Frees what the caller uses as soon as that is in its call: it has run on since it said that it enters.
static void* free_objects(void* of_caller) {
  const double inside = 5e-4;  // seconds of its own time; what comes before it waits takes some microseconds
  struct objects* const its = of_caller;
  while (!entering) sched_yield();
  const double since = seconds_of_caller();
  while (seconds_of_caller() < since + inside) sched_yield();
  MPI_Type_free(&its->type);
  MPI_Op_free(&its->op);
  MPI_Send(NULL, 0, MPI_INT, 0, 0, words);
  return NULL;
}

static void expect(const int* want, const int* got, const char* name, const char* what, int kind) {
  for (int i = 0; i < INTS; ++i)
    if (want[i] != got[i]) {
      fail("%s, type %d, %s: element %d is %d, not %d", name, kind, what, i, got[i], want[i]);
      return;
    }
}

static void check(int number, int kind) {
  const char* const name = cases[number].name;
  call* const make = cases[number].make;
  int want[INTS], got[INTS];
  struct objects first = {type_of(kind), MPI_OP_NULL}, freed;
  MPI_Op_create(add, 1, &first.op);
  run(make, want, first.type, first.op);
  freed = first;
  if (rank == 1) {
    pthread_t other;
    entering = 0;
    pthread_create(&other, NULL, free_objects, &freed);
    entering = 1;
    run(make, got, first.type, first.op);
    pthread_join(other, NULL);
  } else {
    if (rank == 0) MPI_Recv(NULL, 0, MPI_INT, 1, 0, words, MPI_STATUS_IGNORE);
    run(make, got, first.type, first.op);
    MPI_Type_free(&freed.type);
    MPI_Op_free(&freed.op);
  }
  expect(want, got, name, "freed", kind);

  // Others, whose handles may be those of before; a copy has another one.
  struct objects second = {type_of((kind + 1) % 3), MPI_OP_NULL}, copy;
  MPI_Op_create(take_larger, 1, &second.op);
  MPI_Type_dup(second.type, &copy.type);
  MPI_Op_create(take_larger, 1, &copy.op);
  run(make, got, second.type, second.op);
  run(make, want, copy.type, copy.op);
  expect(want, got, name, "another with its handle", kind);
  MPI_Type_free(&second.type);
  MPI_Type_free(&copy.type);
  MPI_Op_free(&second.op);
  MPI_Op_free(&copy.op);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &words);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  const int around = 1;
  MPI_Cart_create(comm, 1, &p, &around, 0, &ring);
  pthread_getcpuclockid(pthread_self(), &clock_of_caller);
  for (int number = 0; number < (int)(sizeof cases / sizeof *cases); ++number)
    for (int kind = 0; kind < 3; ++kind) check(number, kind);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&words);
  MPI_Comm_free(&comm);
  return finish();
}
