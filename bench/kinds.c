/* Kinds of calls that programs make and other benchmarks leave out: in place, of many types and operations, with gaps between
parts, of datatypes with gaps, along grids, by requests, on communicators that come and go. For bench/run kinds.

usage: kinds BYTES
Of a rank, at most. Prints a line for each: a name, a tab, microseconds of a call, each timed alone after a barrier. Of the calls of a rank the
lower quartile counts, of the ranks the slowest. Results are not checked: tests do that. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that a rank has for a call or its parts, and calls of each. */
enum { LENGTHS = 5, MOST = 8 << 20, LONG = 1 << 20, MOST_RANKS = 64, MOST_CALLS = 400 };
static const int lengths[LENGTHS] = {8, 1 << 10, 64 << 10, LONG, MOST}, calls[LENGTHS] = {400, 400, 100, 30, 6};

static MPI_Comm world;
static int rank, ranks;
static char *a, *b;
static double seconds[MOST_CALLS];

static int in_order(const void* left, const void* right) {
  const double l = *(const double*)left, r = *(const double*)right;
  return (l > r) - (l < r);
}

static void tell(const char* name, int bytes, int times) {
  double slowest;
  qsort(seconds, times, sizeof *seconds, in_order);
  MPI_Reduce(&seconds[times / 4], &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, world);
  if (rank == 0) printf("%s, %d\t%.3f\n", name, bytes, slowest * 1e6);
}

#define TIME(name, ...)                   \
  do {                                    \
    for (int k_ = 0; k_ < times; ++k_) {  \
      MPI_Barrier(world);                 \
      const double begin_ = MPI_Wtime();  \
      __VA_ARGS__;                        \
      seconds[k_] = MPI_Wtime() - begin_; \
    }                                     \
    tell(name, n, times);                 \
  } while (0)

static void greatest(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    if (((double*)in)[i] > ((double*)inout)[i]) ((double*)inout)[i] = ((double*)in)[i];
}

struct particle { /* with a gap at its end */
  double at[3];
  int kind;
};
static void add_particles(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    for (int d = 0; d < 3; ++d) ((struct particle*)inout)[i].at[d] += ((struct particle*)in)[i].at[d];
}

static void clear(int n) { memset(b, 0, n); }
static int at_least_one(int number) { return number > 0 ? number : 1; }

static void in_place_and_rooted(int n, int times) {
  const int doubles = n / 8, each = at_least_one(n / ranks), last = ranks - 1;
  TIME("allreduce, in place", MPI_Allreduce(MPI_IN_PLACE, b, doubles, MPI_DOUBLE, MPI_SUM, world));
  clear(n);
  TIME("reduce, in place", MPI_Reduce(rank ? b : MPI_IN_PLACE, b, doubles, MPI_DOUBLE, MPI_MIN, 0, world));
  TIME("reduce to the last", MPI_Reduce(a, b, doubles, MPI_DOUBLE, MPI_SUM, last, world));
  TIME("bcast from the last", MPI_Bcast(a, n, MPI_BYTE, last, world));
  TIME("scan", MPI_Scan(a, b, doubles, MPI_DOUBLE, MPI_SUM, world));
  TIME("exscan", MPI_Exscan(a, b, doubles, MPI_DOUBLE, MPI_SUM, world));
  TIME("allgather, in place", MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, each, MPI_BYTE, world));
  TIME("alltoall, in place", MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, each, MPI_BYTE, world));
  TIME("gather, in place", MPI_Gather(rank ? a : MPI_IN_PLACE, each, MPI_BYTE, b, each, MPI_BYTE, 0, world));
  TIME("scatter, in place", MPI_Scatter(a, each, MPI_BYTE, rank ? b : MPI_IN_PLACE, each, MPI_BYTE, 0, world));
}

static void parts(int n, int times) {
  int counts[MOST_RANKS], sent_at[MOST_RANKS], received_at[MOST_RANKS];
  const int each = at_least_one(n / 8 / ranks);
  for (int r = 0; r < ranks; ++r) {
    counts[r] = each;
    sent_at[r] = (ranks - 1 - r) * (each + 3);
    received_at[r] = (ranks - 1 - r) * (each + 5);
  }
  TIME("reduce_scatter", MPI_Reduce_scatter(a, b, counts, MPI_DOUBLE, MPI_SUM, world));
  TIME("alltoallv, parts backwards",
       MPI_Alltoallv(a, counts, sent_at, MPI_DOUBLE, b, counts, received_at, MPI_DOUBLE, world));
  TIME("allgatherv, parts backwards", MPI_Allgatherv(a, each, MPI_DOUBLE, b, counts, received_at, MPI_DOUBLE, world));
  TIME("gatherv, parts backwards", MPI_Gatherv(a, each, MPI_DOUBLE, b, counts, received_at, MPI_DOUBLE, 0, world));
  TIME("scatterv, parts backwards", MPI_Scatterv(a, counts, sent_at, MPI_DOUBLE, b, each, MPI_DOUBLE, 0, world));
}

static void by_requests(int n, int times) {
  const int doubles = n / 8, each = at_least_one(n / ranks);
  MPI_Request requests[4];
  TIME("iallreduce, wait", MPI_Iallreduce(a, b, doubles, MPI_DOUBLE, MPI_SUM, world, requests);
       MPI_Wait(requests, MPI_STATUS_IGNORE));
  TIME("ibcast, wait", MPI_Ibcast(a, n, MPI_BYTE, 0, world, requests); MPI_Wait(requests, MPI_STATUS_IGNORE));
  TIME("ialltoall, wait", MPI_Ialltoall(a, each, MPI_BYTE, b, each, MPI_BYTE, world, requests);
       MPI_Wait(requests, MPI_STATUS_IGNORE));
  if (n >= LONG) return;
  TIME("four iallreduces, waitall", for (int i = 0; i < 4; ++i) MPI_Iallreduce(
                                        a + i * n, b + i * n, doubles, MPI_DOUBLE, MPI_SUM, world, &requests[i]);
       MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
}

static void types_and_operations(int n, int times) {
  const int pairs = at_least_one(n / 16);
  MPI_Op own;
  TIME("allreduce, int max", MPI_Allreduce(a, b, n / 4, MPI_INT, MPI_MAX, world));
  TIME("allreduce, long double", MPI_Allreduce(a, b, pairs, MPI_LONG_DOUBLE, MPI_SUM, world));
  TIME("allreduce, complex product", MPI_Allreduce(a, b, pairs, MPI_C_DOUBLE_COMPLEX, MPI_PROD, world));
  TIME("allreduce, minloc", MPI_Allreduce(a, b, pairs, MPI_DOUBLE_INT, MPI_MINLOC, world));
  TIME("allreduce, bool or", MPI_Allreduce(a, b, n, MPI_C_BOOL, MPI_LOR, world));
  TIME("allreduce, int8 product", MPI_Allreduce(a, b, n, MPI_INT8_T, MPI_PROD, world));
  clear(n);
  MPI_Op_create(greatest, 1, &own);
  TIME("allreduce, the program's operation", MPI_Allreduce(a, b, n / 8, MPI_DOUBLE, own, world));
  TIME("reduce, the program's operation", MPI_Reduce(a, b, n / 8, MPI_DOUBLE, own, 0, world));
  MPI_Op_free(&own);
}

static void structures(int n, int times) {
  const int lengths_of[] = {3, 1}, all = at_least_one(n / 32), each = at_least_one(all / ranks);
  const MPI_Aint at[] = {offsetof(struct particle, at), offsetof(struct particle, kind)};
  const MPI_Datatype of[] = {MPI_DOUBLE, MPI_INT};
  int counts[MOST_RANKS], displacements[MOST_RANKS];
  MPI_Datatype fields, type;
  MPI_Op own;
  MPI_Type_create_struct(2, lengths_of, at, of, &fields);
  MPI_Type_create_resized(fields, 0, sizeof(struct particle), &type);
  MPI_Type_commit(&type);
  for (int r = 0; r < ranks; ++r) {
    counts[r] = each;
    displacements[r] = r * each;
  }
  TIME("bcast, structures", MPI_Bcast(a, all, type, 0, world));
  TIME("gather, structures", MPI_Gather(a, each, type, b, each, type, 0, world));
  TIME("allgatherv, structures", MPI_Allgatherv(a, each, type, b, counts, displacements, type, world));
  TIME("alltoallv, structures", MPI_Alltoallv(a, counts, displacements, type, b, counts, displacements, type, world));
  MPI_Op_create(add_particles, 1, &own);
  clear(n);
  TIME("allreduce, structures", MPI_Allreduce(a, b, all, type, own, world));
  MPI_Op_free(&own);
  MPI_Type_free(&fields);
  MPI_Type_free(&type);
}

/* A square matrix of doubles by rows, of which each rank has some columns or rows. */
static void matrices(int n, int times) {
  int width = 2 * ranks;
  while (4 * width * width * 8 <= n) width *= 2;
  const int mine = width / ranks, elements = width * mine;
  int lengths_of[1024], at[1024];
  MPI_Datatype one, column, triangle;
  if (width > 1024 || n < 1024) return;
  MPI_Type_vector(width, 1, width, MPI_DOUBLE, &one);
  MPI_Type_create_resized(one, 0, sizeof(double), &column);
  MPI_Type_commit(&column);
  TIME("scatter, columns", MPI_Scatter(a, mine, column, b, elements, MPI_DOUBLE, 0, world));
  TIME("gather, columns", MPI_Gather(b, elements, MPI_DOUBLE, a, mine, column, 0, world));
  TIME("bcast, a column", MPI_Bcast(a, 1, column, 0, world));
  TIME("allgather, columns", MPI_Allgather(b, elements, MPI_DOUBLE, a, mine, column, world));
  MPI_Type_free(&one);
  MPI_Type_free(&column);
  MPI_Type_vector(mine, mine, width, MPI_DOUBLE, &one);
  MPI_Type_create_resized(one, 0, mine * sizeof(double), &column);
  MPI_Type_commit(&column);
  TIME("alltoall, transposed", MPI_Alltoall(a, 1, column, b, mine * mine, MPI_DOUBLE, world));
  MPI_Type_free(&one);
  MPI_Type_free(&column);
  for (int row = 0; row < width; ++row) {
    lengths_of[row] = row + 1;
    at[row] = row * width;
  }
  MPI_Type_indexed(width, lengths_of, at, MPI_DOUBLE, &triangle);
  MPI_Type_commit(&triangle);
  TIME("bcast, a triangle", MPI_Bcast(a, 1, triangle, 0, world));
  MPI_Type_free(&triangle);
  TIME("bcast, a triangle's type made for it", MPI_Type_indexed(width, lengths_of, at, MPI_DOUBLE, &triangle);
       MPI_Type_commit(&triangle); MPI_Bcast(a, 1, triangle, 0, world); MPI_Type_free(&triangle));
}

static MPI_Datatype part_of(const int* sizes, const int* lengths_of, const int* starts, MPI_Datatype element) {
  MPI_Datatype part;
  MPI_Type_create_subarray(3, sizes, lengths_of, starts, MPI_ORDER_C, element, &part);
  MPI_Type_commit(&part);
  return part;
}

/* A cube of complex numbers, of which each rank has a slab, cut along another axis than before: as parallel FFTs do it. */
static void slabs(int n, int times) {
  int width = ranks;
  while (width * width * (size_t)width / ranks * 16 < (size_t)n) width *= 2;
  const int slab = width / ranks;
  int ones[MOST_RANKS], zeros[MOST_RANKS];
  MPI_Datatype sent[MOST_RANKS], received[MOST_RANKS];
  if (n < 1024) return;
  for (int axis = 1; axis < 3; ++axis) { /* along the last one blocks are short */
    for (int r = 0; r < ranks; ++r) {
      int before[] = {width, width, width}, after[] = {width, width, width}, some[] = {width, width, width};
      int sent_at[] = {0, 0, 0}, received_at[] = {0, 0, 0};
      before[axis - 1] = after[axis] = some[axis - 1] = some[axis] = slab;
      sent_at[axis] = received_at[axis - 1] = r * slab;
      sent[r] = part_of(before, some, sent_at, MPI_C_DOUBLE_COMPLEX);
      received[r] = part_of(after, some, received_at, MPI_C_DOUBLE_COMPLEX);
      ones[r] = 1;
      zeros[r] = 0;
    }
    TIME(axis == 1 ? "alltoallw, slabs of rows" : "alltoallw, slabs of columns",
         MPI_Alltoallw(a, ones, zeros, sent, b, ones, zeros, received, world));
    for (int r = 0; r < ranks; ++r) {
      MPI_Type_free(&sent[r]);
      MPI_Type_free(&received[r]);
    }
  }
}

static void grids(int n, int times) {
  int dimensions[] = {0, 0}, ring = ranks;
  const int periods[] = {1, 1};
  MPI_Comm grid;
  MPI_Dims_create(ranks, 2, dimensions);
  MPI_Cart_create(world, 2, dimensions, periods, 0, &grid);
  TIME("neighbor_allgather, grid", MPI_Neighbor_allgather(a, n, MPI_BYTE, b, n, MPI_BYTE, grid));
  TIME("neighbor_alltoall, grid", MPI_Neighbor_alltoall(a, n, MPI_BYTE, b, n, MPI_BYTE, grid));
  MPI_Comm_free(&grid);
  int width = 4;
  while (width * width * (size_t)width * 8 < (size_t)n) width *= 2;
  const int sizes[] = {width, width, width}, face[] = {width, width, 1};
  const int inside[2][3] = {{0, 0, 1}, {0, 0, width - 2}}, edge[2][3] = {{0, 0, 0}, {0, 0, width - 1}};
  const int ones[] = {1, 1};
  const MPI_Aint zeros[] = {0, 0};
  MPI_Datatype sent[2], received[2];
  MPI_Cart_create(world, 1, &ring, periods, 0, &grid);
  for (int i = 0; i < 2; ++i) {
    sent[i] = part_of(sizes, face, inside[i], MPI_DOUBLE);
    received[i] = part_of(sizes, face, edge[i], MPI_DOUBLE);
  }
  TIME("neighbor_alltoallw, edges", MPI_Neighbor_alltoallw(a, ones, zeros, sent, a, ones, zeros, received, grid));
  for (int i = 0; i < 2; ++i) {
    MPI_Type_free(&sent[i]);
    MPI_Type_free(&received[i]);
  }
  MPI_Comm_free(&grid);
}

static void communicators(int n, int times) {
  MPI_Comm half;
  TIME("split, free", MPI_Comm_split(world, rank % 2, rank, &half); MPI_Comm_free(&half));
  MPI_Comm_split(world, rank % 2, rank, &half);
  TIME("allreduce, every other rank", MPI_Allreduce(a, b, n / 8, MPI_DOUBLE, MPI_SUM, half));
  clear(n);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  if (ranks > MOST_RANKS) {
    fprintf(stderr, "kinds: at most %d ranks\n", MOST_RANKS);
    MPI_Abort(world, 1);
  }
  const size_t room = (size_t)8 * MOST;
  a = calloc(room, 1);
  b = calloc(room, 1);
  if (a == NULL || b == NULL) MPI_Abort(world, 1);
  for (int i = 0; i < LENGTHS && lengths[i] <= (argc > 1 ? atol(argv[1]) : MOST); ++i) {
    const int n = lengths[i], times = calls[i];
    in_place_and_rooted(n, times);
    parts(n, times);
    by_requests(n, times);
    slabs(n, times);
    communicators(n, times);
    if (n > LONG) continue;
    types_and_operations(n, times);
    structures(n, times);
    matrices(n, times);
    grids(n, times);
  }
  free(a);
  free(b);
  MPI_Finalize();
  return 0;
}
