// Programs with one fault each, named by the first argument, for OMNES_CHECK to find; and calls that look like faults, "allowed".
// Lines that a report has to name end in "// HERE" and the fault's name, once per call.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, p;
static int a[64], b[64];
static MPI_Request request;

static int is(const char* name, char** argv) { return strcmp(argv[1], name) == 0; }

static void subtract(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] = ((int*)in)[i] - ((int*)inout)[i];
}

/// Between the last rank and all others.
static MPI_Comm groups(void) {
  MPI_Comm local, between;
  const int second = rank == p - 1;
  MPI_Comm_split(MPI_COMM_WORLD, second, rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, second ? 0 : p - 1, 5, &between);
  MPI_Comm_free(&local);
  return between;
}

/// What may differ between the two groups, and at ranks that have nothing to do with a root.
static void allowed_between(void) {
  MPI_Comm inter = groups(), twin;
  const int second = rank == p - 1, here = second ? 1 : p - 1, there = p - here;
  int counts[64], displs[64];
  for (int root = 0; root < p; ++root) {
    const int is_here = (root == p - 1) == second, of = root == p - 1 ? 0 : root;
    const int said = !is_here ? of : root == rank ? MPI_ROOT : MPI_PROC_NULL, n = said == MPI_PROC_NULL ? 0 : 6;
    MPI_Bcast(a, n, MPI_INT, said, inter);
    MPI_Reduce(a, b, n, MPI_INT, MPI_MAX, said, inter);
    MPI_Gather(a, n, MPI_INT, b, n, MPI_INT, said, inter);
    MPI_Scatter(b, n, MPI_INT, a, n, MPI_INT, said, inter);
    for (int r = 0; r < there; ++r) counts[r] = root == p - 1 ? r % 3 : 3, displs[r] = 3 * r;
    const int mine = root == p - 1 ? rank % 3 : 3;
    MPI_Gatherv(a, mine, MPI_INT, b, counts, displs, MPI_INT, said, inter);
    MPI_Scatterv(b, counts, displs, MPI_INT, a, mine, MPI_INT, said, inter);
  }
  MPI_Allreduce(a, b, 5, MPI_INT, MPI_SUM, inter);
  MPI_Allgather(a, second ? 3 : 0, MPI_INT, b, second ? 0 : 3, MPI_INT, inter);
  MPI_Alltoall(a, second ? 3 : 1, MPI_INT, b, second ? 1 : 3, MPI_INT, inter);
  for (int r = 0; r < 64; ++r) counts[r] = 2, displs[r] = 2 * r;
  MPI_Allgatherv(a, 2, MPI_INT, b, counts, displs, MPI_INT, inter);
  MPI_Alltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, inter);
  for (int r = 0; r < here; ++r) counts[r] = second ? 2 * (p - 1) : 2;
  MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, inter);
  MPI_Reduce_scatter_block(a, b, counts[0], MPI_INT, MPI_SUM, inter);
  MPI_Iallreduce(a, b, 5, MPI_INT, MPI_SUM, inter, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_dup(inter, &twin);
  MPI_Barrier(twin);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&inter);
}

/// The program may have its buffers back when it has been told that an operation is complete, whatever tells.
static void allowed_when_told(void) {
  MPI_Request two[2];
  for (int way = 0; way < 4; ++way) {
    int flag = 0;
    MPI_Iallreduce(a, b, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &two[0]);
    MPI_Iallreduce(a + 8, b + 8, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &two[1]);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    int which = 0, some[2] = {0};
    while (!flag) {
      if (way == 1) MPI_Request_get_status_all(2, two, &flag, MPI_STATUSES_IGNORE);
      if (way == 2) MPI_Request_get_status_any(2, two, &which, &flag, MPI_STATUS_IGNORE);
      if (way == 3) MPI_Request_get_status_some(2, two, &flag, some, MPI_STATUSES_IGNORE);
      if (way == 0) MPI_Request_get_status(two[0], &flag, MPI_STATUS_IGNORE);
    }
    which = way == 2 ? which : way == 3 ? some[0] : 0;
    if (way == 1) ++a[8];
#else
    const int which = way % 2;
    while (!flag) MPI_Request_get_status(two[which], &flag, MPI_STATUS_IGNORE);
#endif
    ++a[8 * which];
    ++b[8 * which];
    for (int i = 0; i < 2; ++i) MPI_Wait(&two[i], MPI_STATUS_IGNORE);
  }
}

/// After an error beside it, an operation that has ended is not under way.
static void allowed_after_errors(void) {
  MPI_Comm self;
  MPI_Request three[3];
  MPI_Status statuses[3];
  int one_int, code;
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  const MPI_Comm all[] = {self, MPI_COMM_SELF, MPI_COMM_WORLD};
  for (int i = 0; i < 3; ++i) MPI_Comm_set_errhandler(all[i], MPI_ERRORS_RETURN);
  MPI_Iallreduce(a, b, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &three[0]);
  MPI_Irecv(&one_int, 1, MPI_INT, 0, 0, self, &three[1]);
  MPI_Isend(a, 4, MPI_INT, 0, 0, self, &three[2]);  // too long
  code = MPI_Waitall(3, three, statuses);
  for (int i = 0; i < 3; ++i) MPI_Comm_set_errhandler(all[i], MPI_ERRORS_ARE_FATAL);
  for (int i = 0; code != MPI_SUCCESS && i < 3; ++i)
    if (three[i] != MPI_REQUEST_NULL) MPI_Wait(&three[i], MPI_STATUS_IGNORE);
  MPI_Allreduce(a, b, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Comm_free(&self);
}

/// What MPI allows to differ between ranks.
static void allowed(void) {
  MPI_Datatype ten, every_second, mixed, alike;
  MPI_Type_contiguous(10, MPI_INT, &ten);
  MPI_Type_vector(10, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&ten);
  MPI_Type_commit(&every_second);
  if (rank % 2)
    MPI_Bcast(a, 1, rank == 1 ? every_second : ten, 0, MPI_COMM_WORLD);
  else
    MPI_Bcast(a, 10, MPI_INT, 0, MPI_COMM_WORLD);
  // Another form of one struct, and unsigned numbers.
  const int lengths[] = {2, 3};
  const MPI_Aint at[] = {0, 16};
  const MPI_Datatype of[] = {MPI_INT, MPI_DOUBLE}, of_unsigned[] = {MPI_UNSIGNED, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, at, (MPI_Datatype*)of, &mixed);
  MPI_Type_create_struct(2, lengths, at, (MPI_Datatype*)of_unsigned, &alike);
  MPI_Type_commit(&mixed);
  MPI_Type_commit(&alike);
  MPI_Bcast(a, 1, rank == 0 ? mixed : alike, 0, MPI_COMM_WORLD);
  // A pair, and the structure that it is.
  struct {
    long double value;
    int index;
  } pair = {rank, rank};
  const int single[] = {1, 1};
  const MPI_Aint pair_at[] = {0, sizeof(long double)};
  const MPI_Datatype of_pair[] = {MPI_LONG_DOUBLE, MPI_INT};
  MPI_Datatype pairs;
  MPI_Type_create_struct(2, single, pair_at, (MPI_Datatype*)of_pair, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Bcast(&pair, 1, rank == 0 ? MPI_LONG_DOUBLE_INT : pairs, 0, MPI_COMM_WORLD);
  MPI_Type_free(&pairs);
  // Arguments that count at the root only are nonsense elsewhere.
  MPI_Gather(a, 10, MPI_INT, rank == 0 ? (void*)malloc(40u * (unsigned)p) : NULL, rank == 0 ? 1 : -5,
             rank == 0 ? ten : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
  int* const counts = calloc((size_t)p, sizeof(int));
  int* const displs = calloc((size_t)p, sizeof(int));
  for (int r = 0; r < p; ++r) {
    counts[r] = r % 3;
    displs[r] = 3 * r;
  }
  MPI_Gatherv(a, rank % 3, MPI_INT, b, rank == 0 ? counts : NULL, rank == 0 ? displs : NULL, MPI_INT, 0,
              MPI_COMM_WORLD);
  MPI_Scatterv(b, rank == p - 1 ? counts : NULL, rank == p - 1 ? displs : NULL, MPI_INT, a, rank % 3, MPI_INT, p - 1,
               MPI_COMM_WORLD);
  MPI_Allgatherv(rank == 1 ? MPI_IN_PLACE : a, rank % 3, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD);
  // From rank i to rank j: (i + j) % 2 numbers, as bytes at rank 0, which MPI forbids and programs do.
  for (int r = 0; r < p; ++r) {
    counts[r] = (rank + r) % 2 * (rank == 0 ? (int)sizeof(int) : 1);
    displs[r] = r * (rank == 0 ? (int)sizeof(int) : 1);
  }
  const MPI_Datatype type = rank == 0 ? MPI_BYTE : MPI_INT;
  MPI_Alltoallv(a, counts, displs, type, b, counts, displs, type, MPI_COMM_WORLD);
  // Along a topology that is open at its ends, with one rank that has other counts for nobody.
  MPI_Comm line;
  const int periods = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &p, &periods, 0, &line);
  MPI_Neighbor_allgather(a, 2, MPI_INT, b, 2, MPI_INT, line);
  const int two[] = {1, 2}, here[] = {0, 4}, back[] = {2, 1};
  MPI_Neighbor_alltoallv(a, two, here, MPI_INT, b, back, here, MPI_INT, line);
  // Requests completed in another order than they were started, on communicators that were used in another order.
  MPI_Comm one, other;
  MPI_Comm_dup(MPI_COMM_WORLD, &one);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &other);
  MPI_Request requests[3];
  int sums[3] = {0};
  MPI_Iallreduce(&rank, &sums[0], 1, MPI_INT, MPI_SUM, rank % 2 ? one : other, &requests[0]);
  MPI_Iallreduce(&rank, &sums[1], 1, MPI_INT, MPI_SUM, rank % 2 ? other : one, &requests[1]);
  MPI_Ibarrier(one, &requests[2]);
  for (int i = 0; i < 3; ++i) MPI_Wait(&requests[rank % 2 ? i : 2 - i], MPI_STATUS_IGNORE);
  // A root that is far ahead.
  for (int i = 0; i < 200; ++i) {
    if (rank != 0 && i == 0) usleep(20000);
    MPI_Bcast(a, 1, MPI_INT, 0, one);
  }
  MPI_Comm group_made;
  MPI_Group group, part;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  const int range[1][3] = {{1, p - 1, 1}};
  MPI_Group_range_incl(group, 1, (int (*)[3])range, &part);
  if (rank > 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, part, 3, &group_made);
    MPI_Allreduce(&rank, sums, 1, MPI_INT, MPI_MAX, group_made);
    MPI_Comm_free(&group_made);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&part);
  MPI_Allreduce(MPI_IN_PLACE, a, 4, MPI_INT, MPI_MAX, one);
  MPI_Exscan(MPI_IN_PLACE, a, 4, MPI_INT, MPI_MAX, one);
  double x[33], y[33];
  for (int i = 0; i < 33; ++i) x[i] = (rank % 2 ? -1 : 1) * (1e6 / (i + rank + 1));
  MPI_Allreduce(x, y, 33, MPI_DOUBLE, MPI_SUM, one);
  MPI_Reduce(x, y, 33, MPI_DOUBLE, MPI_PROD, p - 1, one);
  struct {
    double value;
    int index;
  } ours = {rank % 3, rank}, best;
  MPI_Allreduce(&ours, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, one);
  MPI_Scan(x, y, 33, MPI_DOUBLE, MPI_SUM, one);
  int* const equal = calloc((size_t)p, sizeof(int));
  for (int r = 0; r < p; ++r) equal[r] = r % 2 + 1;
  MPI_Reduce_scatter(a, b, equal, MPI_INT, MPI_SUM, one);
  MPI_Reduce_scatter_block(a, b, 2, MPI_INT, MPI_SUM, one);
  MPI_Comm_free(&one);
  MPI_Comm_free(&other);
  MPI_Comm_free(&line);
  MPI_Type_free(&ten);
  MPI_Type_free(&every_second);
  MPI_Type_free(&mixed);
  MPI_Type_free(&alike);
  allowed_between();
  allowed_when_told();
  allowed_after_errors();
  if (rank == 0) puts("OK");
}

/// Calls that the program has made before when ranks disagree.
static void send_to_all(int root, MPI_Datatype type) { MPI_Bcast(a, 4, type, root, MPI_COMM_WORLD); }  // HERE repeated
static void add_up(MPI_Op op) { MPI_Allreduce(a, b, 4, MPI_INT, op, MPI_COMM_WORLD); }                 // HERE added
static void repeat(void) {
  for (int i = 0; i < 20; ++i) {
    send_to_all(0, MPI_INT);
    send_to_all(p - 1, MPI_INT);
    send_to_all(0, MPI_FLOAT);
    add_up(MPI_SUM);
    add_up(MPI_MAX);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Barrier(MPI_COMM_WORLD);
  const int odd = rank == p - 1;
  if (is("allowed", argv)) allowed();
  if (is("root", argv)) MPI_Bcast(a, 4, MPI_INT, odd, MPI_COMM_WORLD);                           // HERE root
  if (is("count", argv)) MPI_Allreduce(a, b, odd ? 5 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);     // HERE count
  if (is("type", argv)) MPI_Bcast(a, 4, odd ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD);           // HERE type
  if (is("op", argv)) MPI_Reduce(a, b, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);  // HERE op
  if (strncmp(argv[1], "again", 5) == 0) {
    repeat();
    if (is("again-root", argv)) send_to_all(odd ? p - 1 : 0, MPI_INT);
    if (is("again-type", argv)) send_to_all(0, odd ? MPI_FLOAT : MPI_INT);
    if (is("again-op", argv)) add_up(odd ? MPI_MAX : MPI_SUM);
    if (is("again-order", argv)) odd ? add_up(MPI_SUM) : send_to_all(0, MPI_INT);
  }
  if (is("order", argv)) {
    if (odd) {
      MPI_Barrier(MPI_COMM_WORLD);  // HERE order
      MPI_Bcast(a, 4, MPI_INT, 0, MPI_COMM_WORLD);
    } else {
      MPI_Bcast(a, 4, MPI_INT, 0, MPI_COMM_WORLD);  // HERE order
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  if (is("form", argv)) {
    if (odd) {
      MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);  // HERE form
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // HERE form
    }
  }
  if (is("part", argv)) {
    int counts[16], displs[16];
    for (int r = 0; r < p; ++r) counts[r] = 1, displs[r] = r;
    if (odd) counts[0] = 2;  // sends rank 0 too much
    int* const right = calloc(16, sizeof(int));
    for (int r = 0; r < p; ++r) right[r] = 1;
    MPI_Alltoallv(a, counts, displs, MPI_INT, b, right, displs, MPI_INT, MPI_COMM_WORLD);  // HERE part
  }
  if (is("gathered", argv)) {
    int counts[16], displs[16];
    for (int r = 0; r < p; ++r) counts[r] = 1, displs[r] = r;
    MPI_Gatherv(a, odd ? 2 : 1, MPI_INT, b, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);  // HERE gathered
  }
  int two_each[16], every_third[16];
  for (int r = 0; r < 16; ++r) two_each[r] = 2, every_third[r] = 3 * r;
  if (is("own", argv)) MPI_Allgather(a, odd ? 1 : 2, MPI_INT, b, 2, MPI_INT, MPI_COMM_WORLD);  // HERE own
  if (is("own_type", argv))
    MPI_Allgather(a, 2, odd ? MPI_FLOAT : MPI_INT, b, 2, MPI_INT, MPI_COMM_WORLD);  // HERE own_type
  if (is("own_part", argv))
    MPI_Allgatherv(a, odd ? 3 : 2, MPI_INT, b, two_each, every_third, MPI_INT, MPI_COMM_WORLD);      // HERE own_part
  if (is("own_of_all", argv)) MPI_Alltoall(a, odd ? 1 : 2, MPI_INT, b, 2, MPI_INT, MPI_COMM_WORLD);  // HERE own_of_all
  if (is("between", argv))  // the second group names another root than the first
    MPI_Bcast(a, 4, MPI_INT, odd ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL, groups());          // HERE between
  if (is("between_counts", argv)) MPI_Allreduce(a, b, odd ? 5 : 4, MPI_INT, MPI_SUM, groups());  // HERE between_counts
  if (is("between_ops", argv)) MPI_Allreduce(a, b, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, groups());  // HERE between_ops
  if (is("between_order", argv)) {
    const MPI_Comm inter = groups();
    if (odd) MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, inter);  // HERE between_order
    if (!odd) MPI_Barrier(inter);                              // HERE between_order
  }
  if (is("between_parts", argv)) MPI_Allgather(a, 2, MPI_INT, b, odd ? 1 : 2, MPI_INT, groups());  // HERE between_parts
  if (is("split", argv)) {
    MPI_Comm made;
    if (odd)
      MPI_Barrier(MPI_COMM_WORLD);  // HERE split
    else
      MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made);  // HERE split
  }
  if (is("finalize", argv)) {
    if (!odd) MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // HERE finalize
  }
  if (is("missing", argv)) {
    if (odd)
      MPI_Recv(a, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // HERE missing
  }
  if (is("late", argv)) {
    if (odd) sleep(4);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);  // HERE late
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) puts("OK");
  }
  if (is("changed", argv)) {
    int* const large = calloc(100000, sizeof(int));
    int* const result = calloc(100000, sizeof(int));
    MPI_Iallreduce(large, result, 100000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);  // HERE changed
    if (odd) large[99999] = 1;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) puts("OK");
  }
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
  if (is("restarted", argv)) {
    MPI_Allreduce_init(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);  // HERE restarted
    for (int i = 0; i < 3; ++i) {
      MPI_Start(&request);
      if (odd && i == 1) a[0] = 1;
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    if (rank == 0) puts("OK");
  }
#endif
  if (is("overlap", argv)) {
    MPI_Allgather(b + (odd ? 1 : 40), 2, MPI_INT, b, 2, MPI_INT, MPI_COMM_WORLD);  // HERE overlap
    if (rank == 0) puts("OK");
  }
  if (is("shared", argv)) {
    MPI_Request other;
    MPI_Ibcast(a, 4, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Iallreduce(b, odd ? a + 3 : a + 8, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &other);  // HERE shared
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    if (rank == 0) puts("OK");
  }
  if (is("results", argv)) {  // what such an operation gives depends on who combines with whom first
    MPI_Op op;
    MPI_Op_create(subtract, 0, &op);
    for (int i = 0; i < 64; ++i) a[i] = 1 + rank;
    MPI_Allreduce(a, b, 64, MPI_INT, op, MPI_COMM_WORLD);  // HERE results
    MPI_Op_free(&op);
    if (rank == 0) puts("OK");
  }
  MPI_Finalize();
  return 0;
}
