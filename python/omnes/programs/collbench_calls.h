/* The 22 collective operations of collbench: what each moves, how its three forms are called, what must come out.

How: every operation sends and receives parts, and each part is a share. With equal counts all shares have `count`
elements; with unequal counts share s of p is proportional to s + 1, so that p shares together are as long (up to
rounding). What belongs to one rank r is share r; what goes from rank r to rank q is share (r + q) mod p, so that both
know it. With random counts each call has others, drawn from 1 to `most`; where an operation has a count for each part,
each share has its own, and there are p * p for the pairs of ranks. Sparse counts are the same, but most are 0. All ranks
draw the same, in every job. Parts lie one behind the other. Neighborhoods are those of a periodic ring. Warm buffers are the same in every
call. Cold ones are many: a set is used again only when all others were, and together they are larger than the caches. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Open MPI 5 has the persistent operations of MPI 4, though it says MPI 3; Open MPI 4 has them under other names. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define INITIALISE(Name, ...) MPI_##Name##_init(__VA_ARGS__)
#elif defined OPEN_MPI
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INITIALISE(Name, ...) MPIX_##Name##_init(__VA_ARGS__)
#endif
#endif
#ifdef INITIALISE
enum { HAS_PERSISTENT = 1 };
#else
enum { HAS_PERSISTENT = 0 };
#define INITIALISE(Name, ...) abort()
#endif

enum { PERIOD = 16, NEIGHBORS = 2, PAGE = 4096, SPARE = 1 << 20 };

/* Random counts: draws of a sweep, a power of two; those of them in which a sparse count is not 0. */
enum { SWEEP = 32, NOT_ZERO = 8 };

/* Sets of cold buffers lie as far apart as what some processors fetch at once: two lines. All sets of all ranks together
   are so many times the last level of cache, so that what is evicted last is gone as well. */
enum { APART = 128, TIMES_LAST_CACHE = 4, USUAL_LAST_CACHE = 32 << 20 };

/* The forms of an operation in MPI, and what programs do around blocking calls: collbench_variety.h. */
enum form { BLOCKING, NONBLOCKING, PERSISTENT, NEW_TYPE, DUP, SPLIT, MANY_COMMUNICATORS, BESIDE_PENDING, FORMS };
static const char* const forms[FORMS] = {"blocking", "nonblocking", "persistent",       "new-type",
                                         "dup",      "split",       "64-communicators", "beside-pending"};
enum counts { EQUAL, UNEQUAL, RANDOM, SPARSE, COUNTS };
static const char* const count_names[COUNTS] = {"equal", "unequal", "random", "sparse"};
enum type { INT, FLOAT, DOUBLE, DOUBLE_INT, TYPES };
static const char* const types[TYPES] = {"int", "float", "double", "double_int"};
enum reduction { SUM, USER, MINLOC, REDUCTIONS };
static const char* const reductions[REDUCTIONS] = {"sum", "user", "minloc"};

/* An element of MPI_DOUBLE_INT. */
struct pair {
  double value;
  int place;
};

enum operation {
  BARRIER,
  BCAST,
  REDUCE,
  ALLREDUCE,
  GATHER,
  GATHERV,
  SCATTER,
  SCATTERV,
  ALLGATHER,
  ALLGATHERV,
  ALLTOALL,
  ALLTOALLV,
  ALLTOALLW,
  REDUCE_SCATTER_BLOCK,
  REDUCE_SCATTER,
  SCAN,
  EXSCAN,
  NEIGHBOR_ALLGATHER,
  NEIGHBOR_ALLGATHERV,
  NEIGHBOR_ALLTOALL,
  NEIGHBOR_ALLTOALLV,
  NEIGHBOR_ALLTOALLW,
  NOTHING,      /* beside a communicator that is made and freed */
  TWENTY_CALLS, /* of different operations, one after the other */
  OPERATIONS
};
/* The parts on one side of an operation: none, one, one for each rank, one for each neighbor. */
enum side { NONE, ONE, ALL, NEAR };
static const struct traits {
  const char* name;
  enum side sends, receives;
  int rooted, reduces;
} traits[OPERATIONS] = {
    {"barrier", NONE, NONE, 0, 0},
    {"bcast", ONE, ONE, 1, 0},
    {"reduce", ONE, ONE, 1, 1},
    {"allreduce", ONE, ONE, 0, 1},
    {"gather", ONE, ALL, 1, 0},
    {"gatherv", ONE, ALL, 1, 0},
    {"scatter", ALL, ONE, 1, 0},
    {"scatterv", ALL, ONE, 1, 0},
    {"allgather", ONE, ALL, 0, 0},
    {"allgatherv", ONE, ALL, 0, 0},
    {"alltoall", ALL, ALL, 0, 0},
    {"alltoallv", ALL, ALL, 0, 0},
    {"alltoallw", ALL, ALL, 0, 0},
    {"reduce_scatter_block", ALL, ONE, 0, 1},
    {"reduce_scatter", ALL, ONE, 0, 1},
    {"scan", ONE, ONE, 0, 1},
    {"exscan", ONE, ONE, 0, 1},
    {"neighbor_allgather", ONE, NEAR, 0, 0},
    {"neighbor_allgatherv", ONE, NEAR, 0, 0},
    {"neighbor_alltoall", NEAR, NEAR, 0, 0},
    {"neighbor_alltoallv", NEAR, NEAR, 0, 0},
    {"neighbor_alltoallw", NEAR, NEAR, 0, 0},
    {"nothing", NONE, NONE, 0, 0},
    {"twenty_calls", NONE, NONE, 1, 0},
};

/* A buffer and where its parts lie in it: counts and displacements in elements, and in bytes for the w operations. */
struct layout {
  char *buffer, *first_set; /* buffer: of the set in use */
  size_t bytes, apart;      /* of a set; from one set to the next */
  size_t room;              /* allocated */
  size_t total;             /* elements */
  int parts;
  int *counts, *displs, *offsets;
  MPI_Aint* far_offsets;
};

struct job {
  enum operation operation;
  enum type type;
  enum reduction reduction;
  enum counts counts;
  unsigned long batches;      /* that were timed since the operation was set up */
  unsigned long series, draw; /* of random counts: those of a batch, and the call in it */
  size_t touched;             /* bytes that the program touches between calls */
  size_t sets, set;           /* of buffers: how many, and the one in use; one when they are warm */
  size_t size;                /* of an element */
  size_t count, most;         /* elements of a share; of random ones */
  MPI_Datatype datatype;
  MPI_Datatype* datatypes; /* one for each rank, all the same */
  MPI_Op op, user;         /* the reduction; the one of this program */
  MPI_Comm comm, ring;
  struct layout send, recv;
  MPI_Request* persistent; /* one for each root */
  struct job* turns;       /* the twenty calls */
};

static int rank, ranks;

static int modulo(int a) { return (a % ranks + ranks) % ranks; }

/* Operations that give a count for each part. */
static int has_counts(enum operation o) {
  return o == GATHERV || o == SCATTERV || o == ALLGATHERV || o == ALLTOALLV || o == ALLTOALLW || o == REDUCE_SCATTER ||
         o == NEIGHBOR_ALLGATHERV || o == NEIGHBOR_ALLTOALLV || o == NEIGHBOR_ALLTOALLW;
}

/* Well mixed bits of two numbers (Steele, Lea, Flood 2014: SplitMix64). */
static unsigned long mixed(unsigned long a, unsigned long b) {
  unsigned long z = a * 0x9e3779b97f4a7c15UL + b * 0xd1342543de82ef95UL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9UL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebUL;
  return z ^ z >> 31;
}

/* Of the SWEEP equal ranges that numbers are drawn from, the one of this draw: in a sweep each has its turn, so that all
   batches have the same mean. Each step keeps five bits apart, and together they know no order. */
static unsigned long range_of(const struct job* job, int what) {
  const unsigned long key = mixed(mixed(job->series, job->draw / SWEEP), what);
  unsigned long range = (job->draw + key) % SWEEP;
  range ^= range >> 2;
  range = range * (key >> 8 | 1) % SWEEP;
  range ^= range >> 3;
  return (range * (key >> 16 | 1) + (key >> 24)) % SWEEP;
}
static size_t drawn(const struct job* job, int s) {
  const unsigned long range = range_of(job, s), any = mixed(mixed(job->series, job->draw), s) % job->most;
  if (job->counts == RANDOM) return 1 + (range * job->most + any) / SWEEP;
  return range < NOT_ZERO ? 1 + (range * job->most + any) / NOT_ZERO : 0;
}

static size_t share(const struct job* job, int s) {
  if (job->counts == UNEQUAL) return job->count * 2 * (s + 1) / (ranks + 1);
  return job->counts >= RANDOM && has_counts(job->operation) ? drawn(job, s) : job->count;
}
/* Of what goes from one rank to another. */
static size_t share_of_pair(const struct job* job, int from, int to) {
  return share(job, job->counts >= RANDOM ? from * ranks + to : modulo(from + to));
}

/* The root of a call: it goes round, or it is random. */
static int root_of(const struct job* job, long call) {
  return (int)((job->counts >= RANDOM ? range_of(job, -1) : (unsigned long)call) % ranks);
}

/* The rank at the other end of part k: MPI lists the lower neighbor of a ring first. */
static int partner(enum side side, int r, int k) { return side == NEAR ? modulo(r + (k == 0 ? -1 : 1)) : k; }
static int parts(enum side side) { return side == NONE ? 0 : side == ONE ? 1 : side == ALL ? ranks : NEIGHBORS; }

/* Elements of rank r's part k of what it sends, or receives. */
static size_t part(const struct job* job, int sends, int r, int k) {
  const struct traits* t = &traits[job->operation];
  const enum side here = sends ? t->sends : t->receives, there = sends ? t->receives : t->sends;
  if (here == ONE) return share(job, r);
  const int other = partner(here, r, k);
  if (there == ONE) return share(job, other);
  return sends ? share_of_pair(job, r, other) : share_of_pair(job, other, r);
}

/* Where part k starts in what rank r sends. */
static size_t sent_before(const struct job* job, int r, int k) {
  size_t sum = 0;
  for (int before = 0; before < k; ++before) sum += part(job, 1, r, before);
  return sum;
}

/* What rank r has at index i in call c: small whole numbers, so that sums are exact in every type. */
static unsigned value(int r, size_t i, long c) { return (unsigned)(i + r + 3 * c) % PERIOD; }

static void fill(const struct job* job, long call) {
  const size_t n = job->send.total;
  if (job->type == INT)
    for (size_t i = 0; i < n; ++i) ((int*)job->send.buffer)[i] = (int)value(rank, i, call);
  if (job->type == FLOAT)
    for (size_t i = 0; i < n; ++i) ((float*)job->send.buffer)[i] = (float)value(rank, i, call);
  if (job->type == DOUBLE)
    for (size_t i = 0; i < n; ++i) ((double*)job->send.buffer)[i] = (double)value(rank, i, call);
  if (job->type == DOUBLE_INT)
    for (size_t i = 0; i < n; ++i) ((struct pair*)job->send.buffer)[i] = (struct pair){value(rank, i, call), rank};
}

static void use_set(struct job* job, size_t set) {
  job->set = set;
  job->send.buffer = job->send.first_set + set * job->send.apart;
  job->recv.buffer = job->recv.first_set + set * job->recv.apart;
}

#define CALL(Name, name, ...)                                                      \
  do {                                                                             \
    if (form == BLOCKING) MPI_##Name(__VA_ARGS__);                                 \
    if (form == NONBLOCKING) MPI_I##name(__VA_ARGS__, request);                    \
    if (form == PERSISTENT) INITIALISE(Name, __VA_ARGS__, MPI_INFO_NULL, request); \
  } while (0)

/* The call itself; a persistent one is made ready to start. */
static void call(const struct job* job, enum form form, int root, MPI_Request* request) {
  const MPI_Datatype type = job->datatype, *const all = job->datatypes;
  const MPI_Op op = job->op;
  const MPI_Comm comm = job->comm, ring = job->ring;
  const struct layout *const s = &job->send, *const r = &job->recv;
  const int n = (int)job->count, own_sent = s->parts ? s->counts[0] : 0, own_received = r->parts ? r->counts[0] : 0;
  void *const from = s->buffer, *const to = r->buffer;
  switch (job->operation) {
    case BARRIER: CALL(Barrier, barrier, comm); break;
    case BCAST: CALL(Bcast, bcast, rank == root ? from : to, n, type, root, comm); break;
    case REDUCE: CALL(Reduce, reduce, from, to, n, type, op, root, comm); break;
    case ALLREDUCE: CALL(Allreduce, allreduce, from, to, n, type, op, comm); break;
    case GATHER: CALL(Gather, gather, from, n, type, to, n, type, root, comm); break;
    case GATHERV: CALL(Gatherv, gatherv, from, own_sent, type, to, r->counts, r->displs, type, root, comm); break;
    case SCATTER: CALL(Scatter, scatter, from, n, type, to, n, type, root, comm); break;
    case SCATTERV:
      CALL(Scatterv, scatterv, from, s->counts, s->displs, type, to, own_received, type, root, comm);
      break;
    case ALLGATHER: CALL(Allgather, allgather, from, n, type, to, n, type, comm); break;
    case ALLGATHERV: CALL(Allgatherv, allgatherv, from, own_sent, type, to, r->counts, r->displs, type, comm); break;
    case ALLTOALL: CALL(Alltoall, alltoall, from, n, type, to, n, type, comm); break;
    case ALLTOALLV:
      CALL(Alltoallv, alltoallv, from, s->counts, s->displs, type, to, r->counts, r->displs, type, comm);
      break;
    case ALLTOALLW:
      CALL(Alltoallw, alltoallw, from, s->counts, s->offsets, all, to, r->counts, r->offsets, all, comm);
      break;
    case REDUCE_SCATTER_BLOCK: CALL(Reduce_scatter_block, reduce_scatter_block, from, to, n, type, op, comm); break;
    case REDUCE_SCATTER: CALL(Reduce_scatter, reduce_scatter, from, to, s->counts, type, op, comm); break;
    case SCAN: CALL(Scan, scan, from, to, n, type, op, comm); break;
    case EXSCAN: CALL(Exscan, exscan, from, to, n, type, op, comm); break;
    case NEIGHBOR_ALLGATHER: CALL(Neighbor_allgather, neighbor_allgather, from, n, type, to, n, type, ring); break;
    case NEIGHBOR_ALLGATHERV:
      CALL(Neighbor_allgatherv, neighbor_allgatherv, from, own_sent, type, to, r->counts, r->displs, type, ring);
      break;
    case NEIGHBOR_ALLTOALL: CALL(Neighbor_alltoall, neighbor_alltoall, from, n, type, to, n, type, ring); break;
    case NEIGHBOR_ALLTOALLV:
      CALL(Neighbor_alltoallv, neighbor_alltoallv, from, s->counts, s->displs, type, to, r->counts, r->displs, type,
           ring);
      break;
    case NEIGHBOR_ALLTOALLW:
      CALL(Neighbor_alltoallw, neighbor_alltoallw, from, s->counts, s->far_offsets, all, to, r->counts, r->far_offsets,
           all, ring);
      break;
    case NOTHING:
    case TWENTY_CALLS:
    case OPERATIONS: break;
  }
}

/* What the ranks up to `end` have at index i, reduced. Of equal values the lowest rank's is the minimum. */
static struct pair reduced(const struct job* job, int end, size_t i, long number) {
  struct pair all = {value(0, i, number), 0};
  for (int r = 1; r < end; ++r) {
    const double next = value(r, i, number);
    if (job->reduction != MINLOC) all.value += next;
    if (job->reduction == MINLOC && next < all.value) all = (struct pair){next, r};
  }
  return all;
}

static int is_right(const struct job* job, size_t i, struct pair right) {
  const char* result = job->recv.buffer;
  if (job->type == INT) return ((int*)result)[i] == right.value;
  if (job->type == FLOAT) return ((float*)result)[i] == right.value;
  if (job->type == DOUBLE) return ((double*)result)[i] == right.value;
  return ((struct pair*)result)[i].value == right.value && ((struct pair*)result)[i].place == right.place;
}

/* Index of the first wrong element, or -1. What arrives in part k of a neighborhood left its sender as part 1 - k when
   `mirrored`, else as part k. */
static long first_difference(const struct job* job, int root, long number, int mirrored) {
  const struct traits* t = &traits[job->operation];
  size_t i = 0;
  for (int k = 0; k < job->recv.parts; ++k) {
    const int source = t->receives == ONE ? root : partner(t->receives, rank, k);
    const int there = t->sends == ONE ? 0 : t->sends == ALL ? rank : mirrored ? 1 - k : k;
    const size_t start = sent_before(job, t->reduces ? rank : source, there);
    const int end = job->operation == SCAN ? rank + 1 : job->operation == EXSCAN ? rank : ranks;
    for (int j = 0; j < job->recv.counts[k]; ++j, ++i) {
      const struct pair sent = {value(source, start + j, number), source};
      if (!is_right(job, i, t->reduces ? reduced(job, end, start + j, number) : sent)) return (long)i;
    }
  }
  return -1;
}

/* The same for this rank's result of a call. Where both neighbors are one rank, MPI before 4.1 leaves open which of the
   two messages is which. */
static long first_wrong(const struct job* job, int root, long number) {
  const enum operation o = job->operation;
  const int only_root = o == REDUCE || o == GATHER || o == GATHERV;
  if ((only_root && rank != root) || (o == BCAST && rank == root) || (o == EXSCAN && rank == 0)) return -1;
  const long wrong = first_difference(job, root, number, 1);
  return wrong >= 0 && traits[o].sends == NEAR && ranks == 2 ? first_difference(job, root, number, 0) : wrong;
}

static void* must(void* pointer, const char* what) {
  if (pointer != NULL && pointer != (void*)-1) return pointer; /* -1: MAP_FAILED */
  fprintf(stderr, "collbench: cannot open or allocate %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

/* Fits a layout to the parts of one side. */
static void lay_out(const struct job* job, struct layout* l, int sends) {
  const enum side here = sends ? traits[job->operation].sends : traits[job->operation].receives;
  const int most = ranks > NEIGHBORS ? ranks : NEIGHBORS;
  if (l->counts == NULL) {
    l->counts = must(calloc(3 * most, sizeof(int)), "counts");
    l->displs = l->counts + most;
    l->offsets = l->displs + most;
    l->far_offsets = must(calloc(most, sizeof(MPI_Aint)), "offsets");
  }
  l->parts = parts(here);
  l->total = 0;
  for (int k = 0; k < l->parts; ++k) {
    l->counts[k] = (int)part(job, sends, rank, k);
    l->displs[k] = (int)l->total;
    l->offsets[k] = (int)(l->total * job->size);
    l->far_offsets[k] = (MPI_Aint)(l->total * job->size);
    l->total += l->counts[k];
  }
  l->bytes = l->total * job->size;
  l->apart = (l->bytes + APART - 1) / APART * APART;
}

static void lay_out_both(struct job* job) {
  lay_out(job, &job->send, 1);
  lay_out(job, &job->recv, 0);
}

/* The counts of a call, where they are random. */
static void draw_counts(struct job* job, unsigned long series, unsigned long draw) {
  if (job->counts < RANDOM) return;
  job->series = series;
  job->draw = draw;
  job->count = drawn(job, 0);
  lay_out_both(job);
}

/* Room for all sets; what is much too large goes back, as other jobs of this machine need theirs. */
static void allocate(struct layout* l, size_t sets) {
  const size_t room = (l->apart * sets / PAGE + 1) * PAGE;
  if (room <= l->room && l->room <= room + SPARE) return;
  free(l->first_set);
  l->room = room;
  l->first_set = must(aligned_alloc(PAGE, room), "a buffer");
  if (sets == 1) memset(l->first_set, 0, room); /* cold ones are filled */
}

/* Cold buffers are all filled before the clock starts. */
static void fill_sets(struct job* job) {
  for (size_t set = 0; set < job->sets; ++set) {
    use_set(job, set);
    fill(job, (long)set);
  }
}

static size_t sets_beyond_caches(const struct job* job) {
  const long known = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const size_t last_cache = known > 0 ? (size_t)known : USUAL_LAST_CACHE, each = job->send.apart + job->recv.apart;
  return each ? TIMES_LAST_CACHE * last_cache / ranks / each + 2 : 1;
}

/* The user-defined reduction: what MPI_SUM does to doubles, which MPI cannot know. */
static void add(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  (void)datatype;
  for (int i = 0; i < *count; ++i) ((double*)inout)[i] += ((double*)in)[i];
}

/* Once: the ring, the user's reduction, and room for a request for each root. */
static void prepare(struct job* job) {
  const int periodic = 1;
  job->comm = MPI_COMM_WORLD;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &job->ring);
  MPI_Op_create(add, 1, &job->user);
  job->datatypes = must(calloc(ranks > NEIGHBORS ? ranks : NEIGHBORS, sizeof(MPI_Datatype)), "datatypes");
  job->persistent = must(calloc(ranks, sizeof(MPI_Request)), "requests");
}

/* Sets up the operation on shares of so many bytes. */
static void set_up(struct job* job, enum operation operation, enum type type, size_t bytes, enum counts counts,
                   enum reduction reduction, int cold) {
  static const size_t sizes[TYPES] = {sizeof(int), sizeof(float), sizeof(double), sizeof(struct pair)};
  const MPI_Datatype datatypes[TYPES] = {MPI_INT, MPI_FLOAT, MPI_DOUBLE, MPI_DOUBLE_INT};
  job->operation = operation;
  job->type = type;
  job->counts = counts >= RANDOM ? EQUAL : counts; /* buffers have room for the most */
  job->size = sizes[type];
  job->count = job->most = bytes / job->size;
  job->datatype = datatypes[type];
  job->reduction = reduction;
  job->batches = 0;
  job->op = reduction == SUM ? MPI_SUM : reduction == USER ? job->user : MPI_MINLOC;
  for (int i = 0; i < (ranks > NEIGHBORS ? ranks : NEIGHBORS); ++i) job->datatypes[i] = job->datatype;
  lay_out_both(job);
  job->sets = cold ? sets_beyond_caches(job) : 1;
  allocate(&job->send, job->sets);
  allocate(&job->recv, job->sets);
  use_set(job, 0);
  if (cold) fill_sets(job);
  job->counts = counts;
}
