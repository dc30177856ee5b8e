// Makes the calls of a trace again, as omnes bench --replay has laid them out for each rank, and times them.
//
// replay FOLDER LONGEST_GAP: reads FOLDER/rank-<rank>, numbers only (python/omnes/bench/replay.py writes it). Between calls it
// computes as long as the program did, at most LONGEST_GAP ns, writing to memory of its own, so that caches go cold. Only what
// is spent in MPI counts. Rank 0 prints what was found, a line of JSON.
//
// Buffers: blocking calls take theirs from a pool, one piece behind the other, going round; each request has its own, as what
// is under way must be left alone.
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce_scatter_block,
  reduce_scatter,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  operations,
  dup = operations,
  split,
  free_comm,
  start,
  wait,
  release,
  kinds
};
enum { blocking, nonblocking, persistent, forms };
enum { sets = 4, checked_each = 64, own_memory = 1 << 20, cache_line = 64, least_pool = 1 << 20 };

struct parts {
  int n;
  int *counts, *at;  // bytes; elements where data are reduced
  size_t bytes;      // from the first to the end of the last
};

struct call {
  int kind, form, comm, root, in_place, count, element, op, type;
  int as, color, key;  // of a communicator that is made
  struct parts send, recv;
  MPI_Aint* displs;  // those of neighbor_alltoallw, sent and received
};

struct event {
  uint32_t call, gap, request;
};

struct edges {
  int sources, destinations;
  int *from, *to;
  int given;
};

struct request {
  MPI_Request request;
  int call, active, persistent, used;
  char *send, *recv;
  size_t send_room, recv_room;
};

static FILE* input;
static int world_rank, world_size;
static MPI_Comm* comms;
static long* calls_on;  // operations on each communicator so far
static struct edges* edges_of;
static int comm_count, call_count, event_count, request_count;
static struct call* calls;
static struct event* events;
static struct request* requests;
static MPI_Op program_op;
static double seconds[kinds][forms];
static double made[kinds][forms];

static void fail(const char* what) {
  fprintf(stderr, "error: replay: %s\n", what);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static void* room(size_t bytes) {
  void* const found = calloc(bytes + 1, 1);
  if (!found) fail("not enough memory");
  return found;
}

static long number(void) {
  int c = getc_unlocked(input);
  while (c == ' ' || c == '\n') c = getc_unlocked(input);
  const int minus = c == '-';
  if (minus) c = getc_unlocked(input);
  if (c < '0' || c > '9') fail("the rank's file ends early");
  long value = 0;
  for (; c >= '0' && c <= '9'; c = getc_unlocked(input)) value = 10 * value + (c - '0');
  return minus ? -value : value;
}

static int* numbers(int n) {
  int* const found = room((size_t)n * sizeof *found);
  for (int i = 0; i < n; i++) found[i] = (int)number();
  return found;
}

static struct parts read_parts(size_t element) {
  struct parts found = {(int)number(), NULL, NULL, 0};
  found.counts = numbers(found.n);
  found.at = numbers(found.n);
  for (int i = 0; i < found.n; i++) {
    const size_t end = ((size_t)found.at[i] + (size_t)found.counts[i]) * element;
    if (end > found.bytes) found.bytes = end;
  }
  return found;
}

static void make_graph(int number_of) {
  const struct edges* const e = &edges_of[number_of];
  if (!e->given || comms[number_of] == MPI_COMM_NULL) return;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(comms[number_of], e->sources, e->from, MPI_UNWEIGHTED, e->destinations, e->to,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Comm_free(&comms[number_of]);
  comms[number_of] = graph;
}

static void read_edges(void) {
  for (long left = number(); left > 0; left--) {
    struct edges* const e = &edges_of[number()];
    e->given = 1;
    e->sources = (int)number();
    e->from = numbers(e->sources);
    e->destinations = (int)number();
    e->to = numbers(e->destinations);
  }
}

static MPI_Comm comm_of(MPI_Group world, int n, const int* members) {
  MPI_Group some;
  MPI_Comm comm;
  MPI_Group_incl(world, n, members, &some);
  MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &comm);
  MPI_Group_free(&some);
  return comm;
}

/// An intercommunicator: the first of the members are one group, the others the other one.
static MPI_Comm comm_between(MPI_Group world, int first, int n, const int* members) {
  int in_first = 0;
  for (int i = 0; i < first; i++) in_first |= members[i] == world_rank;
  MPI_Comm own = in_first ? comm_of(world, first, members) : comm_of(world, n - first, members + first);
  MPI_Comm between;
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, members[in_first ? first : 0], 0, &between);
  MPI_Comm_free(&own);
  return between;
}

/// Of which nobody knows where they come from: all there from the start, made in one order.
static void make_groups(void) {
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (long left = number(); left > 0; left--) {
    const int of = (int)number(), first = (int)number(), n = (int)number();
    int* const members = numbers(n);
    comms[of] = first > 0 ? comm_between(world, first, n, members) : comm_of(world, n, members);
    free(members);
    make_graph(of);
  }
  MPI_Group_free(&world);
}

/// Of an intercommunicator -1 stands for MPI_PROC_NULL and -2 for MPI_ROOT, which have other values in each MPI.
static int root(void) {
  const int said = (int)number();
  return said == -1 ? MPI_PROC_NULL : said == -2 ? MPI_ROOT : said;
}

static void read_call(struct call* c) {
  c->kind = (int)number();
  c->form = (int)number();
  c->comm = (int)number();
  c->root = root();
  c->in_place = (int)number();
  c->count = (int)number();
  c->element = (int)number();
  c->op = (int)number();
  c->type = (int)number();
  c->as = (int)number();
  c->color = (int)number();
  c->key = (int)number();
  const size_t element = c->op == -2 ? 1 : (size_t)c->element;
  c->send = read_parts(element);
  c->recv = read_parts(element);
  if (c->kind != neighbor_alltoallw) return;
  c->displs = room((size_t)(c->send.n + c->recv.n) * sizeof *c->displs);
  for (int i = 0; i < c->send.n; i++) c->displs[i] = c->send.at[i];
  for (int i = 0; i < c->recv.n; i++) c->displs[c->send.n + i] = c->recv.at[i];
}

static void read_input(const char* folder) {
  char name[4096];
  snprintf(name, sizeof name, "%s/rank-%d", folder, world_rank);
  input = fopen(name, "r");
  if (!input) fail("the rank's file is missing");
  if (number() != world_size) fail("the trace has another number of ranks");
  comm_count = (int)number();
  comms = room((size_t)comm_count * sizeof *comms);
  calls_on = room((size_t)comm_count * sizeof *calls_on);
  edges_of = room((size_t)comm_count * sizeof *edges_of);
  for (int i = 0; i < comm_count; i++) comms[i] = MPI_COMM_NULL;
  comms[0] = MPI_COMM_WORLD;
  const long self = number();
  if (self >= 0) comms[self] = MPI_COMM_SELF;
  read_edges();
  make_groups();
  call_count = (int)number();
  calls = room((size_t)call_count * sizeof *calls);
  for (int i = 0; i < call_count; i++) read_call(&calls[i]);
  request_count = (int)number() + 1;
  requests = room((size_t)request_count * sizeof *requests);
  event_count = (int)number();
  events = room((size_t)event_count * sizeof *events);
  for (int i = 0; i < event_count; i++) {
    events[i].call = (uint32_t)number();
    events[i].gap = (uint32_t)number();
    events[i].request = (uint32_t)number();
  }
  fclose(input);
}

// Types and operations, in the order of python/omnes/traces/events.py.

static MPI_Datatype type_of(int type) {
  const MPI_Datatype all[] = {MPI_INT8_T,
                              MPI_INT16_T,
                              MPI_INT32_T,
                              MPI_INT64_T,
                              MPI_UINT8_T,
                              MPI_UINT16_T,
                              MPI_UINT32_T,
                              MPI_UINT64_T,
                              MPI_FLOAT,
                              MPI_DOUBLE,
                              MPI_C_FLOAT_COMPLEX,
                              MPI_C_DOUBLE_COMPLEX,
                              MPI_SHORT_INT,
                              MPI_2INT,
                              MPI_LONG_INT,
                              MPI_FLOAT_INT,
                              MPI_DOUBLE_INT,
                              MPI_2REAL,
                              MPI_2DOUBLE_PRECISION,
                              MPI_LONG_DOUBLE,
                              MPI_C_LONG_DOUBLE_COMPLEX};
  return all[type];
}

static MPI_Op op_of(int op) {
  const MPI_Op all[] = {MPI_SUM,  MPI_PROD, MPI_MAX, MPI_MIN,  MPI_LAND,   MPI_LOR,
                        MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  return all[op];
}

/// What stands for every function of a program: a sum of words, or of bytes where elements are no whole words.
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  int size;
  MPI_Type_size(*type, &size);
  const size_t bytes = (size_t)*count * (size_t)size;
  if (size % 4 == 0)
    for (size_t i = 0; i < bytes / 4; i++) ((uint32_t*)inout)[i] += ((const uint32_t*)in)[i];
  else
    for (size_t i = 0; i < bytes; i++) ((uint8_t*)inout)[i] += ((const uint8_t*)in)[i];
}

/// One for each size, made when it is first needed.
static MPI_Datatype bytes_type(int size) {
  static struct {
    int size;
    MPI_Datatype type;
  }* known;
  static int count;
  if (size == 1) return MPI_BYTE;
  for (int i = 0; i < count; i++)
    if (known[i].size == size) return known[i].type;
  known = realloc(known, (size_t)(count + 1) * sizeof *known);
  if (!known) fail("not enough memory");
  known[count].size = size;
  MPI_Type_contiguous(size, MPI_BYTE, &known[count].type);
  MPI_Type_commit(&known[count].type);
  return known[count++].type;
}

struct combining {
  MPI_Datatype type;
  MPI_Op op;
};

/// op: -2 none, -1 a function of the program.
static struct combining combining(const struct call* c) {
  if (c->op >= 0) {
    const MPI_Datatype type = type_of(c->type);
    MPI_Aint lb, extent = 0;
    if (type != MPI_DATATYPE_NULL) MPI_Type_get_extent(type, &lb, &extent);
    if (extent == c->element) return (struct combining){type, op_of(c->op)};
  }
  return (struct combining){bytes_type(c->element), c->op == -2 ? MPI_OP_NULL : program_op};
}

// Buffers.

struct pool {
  char* memory;
  size_t bytes, next;
};
static struct pool send_pool, recv_pool;

static size_t rounded(size_t bytes) { return (bytes / cache_line + 1) * cache_line; }

static char* take(struct pool* pool, size_t bytes) {
  if (pool->next + rounded(bytes) > pool->bytes) pool->next = 0;
  char* const found = pool->memory + pool->next;
  pool->next += rounded(bytes);
  return found;
}

static int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

/// Of an intercommunicator; else 0.
static int remote_size_of(MPI_Comm comm) {
  int is_inter = 0, size = 0;
  MPI_Comm_test_inter(comm, &is_inter);
  if (is_inter) MPI_Comm_remote_size(comm, &size);
  return size;
}

static int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/// `p`: ranks, of the larger group of an intercommunicator; at most, where the communicator is not there yet.
static size_t send_bytes(const struct call* c, size_t p) {
  const size_t one = (size_t)c->count * (size_t)c->element;
  switch (c->kind) {
    case scatter:
    case reduce_scatter_block: return one * p;
    case alltoall: return larger(one * p, c->send.bytes);
    case scatterv:
    case alltoallv:
    case alltoallw:
    case reduce_scatter:
    case neighbor_alltoall:
    case neighbor_alltoallv:
    case neighbor_alltoallw: return larger(c->send.bytes, one);
    default: return one;
  }
}

static size_t recv_bytes(const struct call* c, size_t p) {
  const size_t one = (size_t)c->count * (size_t)c->element;
  switch (c->kind) {
    case gather:
    case reduce_scatter_block: return one * p;
    case allgather:
    case alltoall: return larger(one * p, c->recv.bytes);
    case reduce_scatter: return c->send.bytes;  // in place all contributions lie there
    default: return larger(c->recv.bytes, one);
  }
}

static void make_pool(struct pool* pool, size_t (*bytes)(const struct call*, size_t)) {
  size_t largest = 0;
  for (int i = 0; i < call_count; i++) {
    const size_t needed =
        calls[i].kind < operations && calls[i].form == blocking ? bytes(&calls[i], (size_t)world_size) : 0;
    if (needed > largest) largest = needed;
  }
  pool->bytes = sets * rounded(largest) > least_pool ? sets * rounded(largest) : least_pool;
  pool->memory = aligned_alloc(4096, (pool->bytes + 4095) / 4096 * 4096);
  if (!pool->memory) fail("not enough memory");
  memset(pool->memory, 1, pool->bytes);  // as a float or a double no number that is slow to add
}

static char* own_room(char** buffer, size_t* have, size_t bytes) {
  if (*have < bytes + 1) {
    free(*buffer);
    *buffer = room(bytes);
    memset(*buffer, 1, bytes);
    *have = bytes + 1;
  }
  return *buffer;
}

// Calls.

#if MPI_VERSION >= 4
#define PERSISTENT(name, ...)                                          \
  if (c->form == persistent) {                                         \
    MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, made_request); \
    break;                                                             \
  }
#define PERSISTENT_BARRIER                               \
  if (c->form == persistent) {                           \
    MPI_Barrier_init(comm, MPI_INFO_NULL, made_request); \
    break;                                               \
  }
#else  // it is prepared by nothing, and started by the nonblocking call
#define PERSISTENT(name, ...)
#define PERSISTENT_BARRIER
#endif
#define MAKE(name, iname, ...)                      \
  {                                                 \
    PERSISTENT(name, __VA_ARGS__)                   \
    if (c->form == blocking)                        \
      MPI_##name(__VA_ARGS__, comm);                \
    else                                            \
      MPI_##iname(__VA_ARGS__, comm, made_request); \
    break;                                          \
  }

static MPI_Datatype* all_bytes(int n) {
  static MPI_Datatype* types;
  static int have;
  if (n > have) {
    types = realloc(types, (size_t)n * sizeof(MPI_Datatype));
    if (!types) fail("not enough memory");
    for (; have < n; have++) types[have] = MPI_BYTE;
  }
  return types;
}

static void make(const struct call* c, MPI_Comm comm, char* send, char* recv, MPI_Request* made_request) {
  const struct combining with = combining(c);
  const int at_root = c->in_place;  // in place only the root is, in what has one
  const void* const from = c->in_place ? MPI_IN_PLACE : send;
  const MPI_Datatype t = with.type;
  const int equal_send = c->send.n > 0 ? c->send.counts[0] : c->count;
  const int equal_recv = c->recv.n > 0 ? c->recv.counts[0] : c->count;
  const MPI_Datatype of_sent = c->send.n > 0 ? MPI_BYTE : t, of_received = c->recv.n > 0 ? MPI_BYTE : t;
  MPI_Datatype* const types = all_bytes(c->send.n > c->recv.n ? c->send.n : c->recv.n);
  switch (c->kind) {
    case barrier:
      PERSISTENT_BARRIER
      if (c->form == blocking)
        MPI_Barrier(comm);
      else
        MPI_Ibarrier(comm, made_request);
      break;
    case bcast: MAKE(Bcast, Ibcast, recv, c->count, t, c->root)
    case reduce: MAKE(Reduce, Ireduce, from, recv, c->count, t, with.op, c->root)
    case allreduce: MAKE(Allreduce, Iallreduce, from, recv, c->count, t, with.op)
    case scan: MAKE(Scan, Iscan, from, recv, c->count, t, with.op)
    case exscan: MAKE(Exscan, Iexscan, from, recv, c->count, t, with.op)
    case reduce_scatter_block: MAKE(Reduce_scatter_block, Ireduce_scatter_block, from, recv, c->count, t, with.op)
    case reduce_scatter: MAKE(Reduce_scatter, Ireduce_scatter, from, recv, c->send.counts, t, with.op)
    case gather: MAKE(Gather, Igather, from, c->count, t, recv, c->count, t, c->root)
    case scatter: MAKE(Scatter, Iscatter, send, c->count, t, at_root ? MPI_IN_PLACE : recv, c->count, t, c->root)
    case allgather: MAKE(Allgather, Iallgather, from, c->count, t, recv, equal_recv, of_received)
    case alltoall: MAKE(Alltoall, Ialltoall, from, equal_send, of_sent, recv, equal_recv, of_received)
    case gatherv: MAKE(Gatherv, Igatherv, from, c->count, MPI_BYTE, recv, c->recv.counts, c->recv.at, MPI_BYTE, c->root)
    case scatterv:
      MAKE(Scatterv, Iscatterv, send, c->send.counts, c->send.at, MPI_BYTE, at_root ? MPI_IN_PLACE : recv, c->count,
           MPI_BYTE, c->root)
    case allgatherv: MAKE(Allgatherv, Iallgatherv, from, c->count, MPI_BYTE, recv, c->recv.counts, c->recv.at, MPI_BYTE)
    case alltoallv:
      MAKE(Alltoallv, Ialltoallv, from, c->send.counts, c->send.at, MPI_BYTE, recv, c->recv.counts, c->recv.at,
           MPI_BYTE)
    case alltoallw:
      MAKE(Alltoallw, Ialltoallw, from, c->send.counts, c->send.at, types, recv, c->recv.counts, c->recv.at, types)
    case neighbor_allgather:
      MAKE(Neighbor_allgather, Ineighbor_allgather, send, c->count, MPI_BYTE, recv, equal_recv, MPI_BYTE)
    case neighbor_allgatherv:
      MAKE(Neighbor_allgatherv, Ineighbor_allgatherv, send, c->count, MPI_BYTE, recv, c->recv.counts, c->recv.at,
           MPI_BYTE)
    case neighbor_alltoall:
      MAKE(Neighbor_alltoall, Ineighbor_alltoall, send, equal_send, MPI_BYTE, recv, equal_recv, MPI_BYTE)
    case neighbor_alltoallv:
      MAKE(Neighbor_alltoallv, Ineighbor_alltoallv, send, c->send.counts, c->send.at, MPI_BYTE, recv, c->recv.counts,
           c->recv.at, MPI_BYTE)
    case neighbor_alltoallw:
      MAKE(Neighbor_alltoallw, Ineighbor_alltoallw, send, c->send.counts, c->displs, types, recv, c->recv.counts,
           c->displs + c->send.n, types)
  }
}

// Results that are cheap to check, of every so many-th call on a communicator: the first one, too.

static int is_checked(const struct call* c) {
  const int sums =
      c->kind == allreduce && c->op == 0 && (c->type == 2 || c->type == 9) && combining(c).op != program_op;
  return c->form == blocking && calls_on[c->comm] % checked_each == 0 &&
         (c->kind == bcast || c->kind == allgather || sums);
}

static char pattern(int rank, size_t i) { return (char)(7 * rank + (int)(i % 251) + 1); }

static void set_sums(const struct call* c, void* data, int value) {
  for (int i = 0; i < c->count; i++) {
    if (c->type == 2)
      ((int32_t*)data)[i] = value;
    else
      ((double*)data)[i] = value;
  }
}

static void fill(const struct call* c, MPI_Comm comm, char* send, char* recv) {
  const size_t bytes = (size_t)c->count * (size_t)c->element;
  const int me = rank_in(comm), is_root = c->root == (remote_size_of(comm) > 0 ? MPI_ROOT : me);
  if (c->kind == allreduce) {
    set_sums(c, c->in_place ? recv : send, me + 1);
    return;
  }
  char* own = c->kind == bcast ? recv : c->in_place ? recv + bytes * (size_t)me : send;
  for (size_t i = 0; i < bytes; i++) own[i] = c->kind == bcast && !is_root ? 0 : pattern(me, i);
}

static int is_right(const struct call* c, MPI_Comm comm, const char* recv) {
  const int others = remote_size_of(comm), p = others > 0 ? others : size_of(comm), sum = p * (p + 1) / 2;
  const size_t bytes =
      c->kind == allgather && c->recv.n > 0 ? (size_t)c->recv.counts[0] : (size_t)c->count * (size_t)c->element;
  if (c->kind == allreduce) {
    for (int i = 0; i < c->count; i++)
      if ((c->type == 2 ? ((const int32_t*)recv)[i] : ((const double*)recv)[i]) != sum) return 0;
    return 1;
  }
  if (c->kind == bcast && c->root < 0) return 1;  // between groups, where this one gets nothing
  const int first = c->kind == bcast ? c->root : 0, last = c->kind == bcast ? c->root : p - 1;
  for (int r = first; r <= last; r++)
    for (size_t i = 0; i < bytes; i++)
      if (*recv++ != pattern(r, i)) return 0;
  return 1;
}

// The replay.

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void compute(int64_t until) {
  static volatile char memory[own_memory];
  static size_t at;
  while (now() < until)
    for (int line = 0; line < 16; line++) {
      memory[at]++;
      at = (at + cache_line) % own_memory;
    }
}

static void make_comm(const struct call* c) {
  MPI_Comm fresh = MPI_COMM_NULL;
  if (c->kind == dup)
    MPI_Comm_dup(comms[c->comm], &fresh);
  else
    MPI_Comm_split(comms[c->comm], c->color < 0 ? MPI_UNDEFINED : c->color, c->key, &fresh);
  if (c->as < 0) return;
  comms[c->as] = fresh;
  calls_on[c->as] = 0;
  make_graph(c->as);
}

static void complete(struct request* r) {
  MPI_Wait(&r->request, MPI_STATUS_IGNORE);
  r->active = 0;
}

static int begins_anew(const struct request* r) { return r->persistent && MPI_VERSION < 4; }

static void start_again(struct request* r) {
  const struct call* const c = &calls[r->call];
  if (begins_anew(r))
    make(c, comms[c->comm], r->send, r->recv, &r->request);
  else
    MPI_Start(&r->request);
  r->active = 1;
}

static void let_go(struct request* r) {
  if (r->active) complete(r);
  if (r->persistent && !begins_anew(r)) MPI_Request_free(&r->request);
  r->used = 0;
}

static void make_operation(int which, struct request* r, char* send, char* recv) {
  const struct call* const c = &calls[which];
  if (!r) {
    make(c, comms[c->comm], send, recv, NULL);
    return;
  }
  r->call = which;
  r->persistent = c->form == persistent;
  r->active = !r->persistent;
  r->used = 1;
  if (!begins_anew(r)) make(c, comms[c->comm], send, recv, &r->request);
}

/// Returns the ns that the operation took.
static int64_t operation(int which, struct request* r) {
  const struct call* const c = &calls[which];
  const MPI_Comm comm = comms[c->comm];
  const size_t p = larger((size_t)size_of(comm), (size_t)remote_size_of(comm));
  const size_t out = send_bytes(c, p), in = recv_bytes(c, p);
  char* const send = r ? own_room(&r->send, &r->send_room, out) : take(&send_pool, out);
  char* const recv = r ? own_room(&r->recv, &r->recv_room, in) : take(&recv_pool, in);
  const int checked = is_checked(c);
  if (checked) fill(c, comm, send, recv);
  const int64_t begin = now();
  make_operation(which, r, send, recv);
  const int64_t taken = now() - begin;
  if (checked && !is_right(c, comm, recv)) fail("a call has a wrong result");
  calls_on[c->comm]++;
  return taken;
}

static void replay_event(const struct event* e) {
  const struct call* const c = &calls[e->call];
  struct request* const r = e->request ? &requests[e->request] : NULL;
  if (c->kind < operations) {
    seconds[c->kind][c->form] += 1e-9 * (double)operation((int)e->call, r);
    if (c->form != persistent) made[c->kind][c->form]++;
    return;
  }
  const int64_t begin = now();
  const struct call* const of = r ? &calls[r->call] : c;
  switch (c->kind) {
    case dup:
    case split: make_comm(c); break;
    case free_comm: MPI_Comm_free(&comms[c->comm]); break;
    case start: start_again(r); break;
    case wait: complete(r); break;
    case release: let_go(r); break;
  }
  seconds[of->kind][of->form] += 1e-9 * (double)(now() - begin);
  if (c->kind != wait && c->kind != release) made[of->kind][of->form]++;
}

static void replay(int64_t longest_gap) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < event_count; i++) {
    const int64_t gap = events[i].gap < longest_gap ? events[i].gap : longest_gap;
    if (gap > 0) compute(now() + gap);
    replay_event(&events[i]);
  }
  for (int i = 1; i < request_count; i++)
    if (requests[i].used) let_go(&requests[i]);
}

/// Whether a library of omnes is in this process; a loader that cannot preload one only warns.
static int omnes_is_loaded(void) {
  char line[4096];
  int found = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) found |= strstr(line, "/libomnes-") != NULL;
  if (maps) fclose(maps);
  return found;
}

static void print(void) {
  static const char* const names[] = {"barrier",
                                      "bcast",
                                      "reduce",
                                      "allreduce",
                                      "gather",
                                      "gatherv",
                                      "scatter",
                                      "scatterv",
                                      "allgather",
                                      "allgatherv",
                                      "alltoall",
                                      "alltoallv",
                                      "alltoallw",
                                      "reduce_scatter_block",
                                      "reduce_scatter",
                                      "scan",
                                      "exscan",
                                      "neighbor_allgather",
                                      "neighbor_allgatherv",
                                      "neighbor_alltoall",
                                      "neighbor_alltoallv",
                                      "neighbor_alltoallw",
                                      "comm_dup",
                                      "comm_split",
                                      "comm_free"};
  static const char* const form_names[] = {"blocking", "nonblocking", "persistent"};
  double all_seconds[kinds][forms], all_made[kinds][forms], own = 0, slowest = 0, sum = 0;
  for (int k = 0; k < kinds; k++)
    for (int f = 0; f < forms; f++) own += seconds[k][f];
  MPI_Reduce(seconds, all_seconds, kinds * forms, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(made, all_made, kinds * forms, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (world_rank != 0) return;
  printf("{\"replay\": 1, \"omnes\": %s, ", omnes_is_loaded() ? "true" : "false");
  printf("\"seconds\": %.9f, \"slowest\": %.9f, \"operations\": [", sum / world_size, slowest);
  const char* comma = "";
  for (int k = 0; k < start; k++)
    for (int f = 0; f < forms; f++) {
      if (all_made[k][f] == 0) continue;
      printf("%s{\"operation\": \"%s\", \"form\": \"%s\", \"calls\": %.0f, \"seconds\": %.9f}", comma, names[k],
             form_names[f], all_made[k][f], all_seconds[k][f]);
      comma = ", ";
    }
  printf("]}\n");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (argc != 3) fail("usage: replay FOLDER LONGEST_GAP");
  MPI_Op_create(add, 1, &program_op);
  read_input(argv[1]);
  make_pool(&send_pool, send_bytes);
  make_pool(&recv_pool, recv_bytes);
  replay(atoll(argv[2]));
  print();
  MPI_Finalize();
  return 0;
}
