/* Times collective operations in simulated time; run by `omnes simulate` under SimGrid's smpirun.

usage: simbench OPERATION:BYTES...   BYTES is one part, as in omnes bench; answers with one JSON object a line for each:
  {"operation": "bcast", "bytes": 1024, "seconds": S}   or   {..., "wrong": "..."}
How: one call warms up (some algorithms make communicators of their own). Then all ranks agree on a moment, sleep until it
has come, and call once more; the time until the last rank is through counts. Simulated clocks are exact and the same for
all ranks, so nothing needs repeating. Both results are checked. Ranks agree by messages of PMPI, which are the same for
all contenders, and few: a simulation pays for each, and more where many are under way at once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PERIOD = 16, FIRST_ROOT = 0 };
static const double slack = 1e-3; /* seconds, until all ranks have heard of the moment */

static int rank, ranks;

/* The parts on one side: none, one, one for each rank; which ranks have that side. */
enum side { NONE, ONE, ALL };
static const struct operation {
  const char* name;
  enum side sends, receives;
  int from_root, to_root, reduces;
} operations[] = {
    {"barrier", NONE, NONE, 0, 0, 0},      {"bcast", NONE, ONE, 0, 0, 0},
    {"reduce", ONE, ONE, 0, 1, 1},         {"allreduce", ONE, ONE, 0, 0, 1},
    {"gather", ONE, ALL, 0, 1, 0},         {"scatter", ALL, ONE, 1, 0, 0},
    {"allgather", ONE, ALL, 0, 0, 0},      {"alltoall", ALL, ALL, 0, 0, 0},
    {"reduce_scatter", ALL, ONE, 0, 0, 1}, {"reduce_scatter_block", ALL, ONE, 0, 0, 1},
    {"scan", ONE, ONE, 0, 0, 1},           {"exscan", ONE, ONE, 0, 0, 1},
};

struct job {
  const struct operation* operation;
  int count;        /* elements of a part */
  int *send, *recv; /* null where this rank has none */
  int* counts;      /* of reduce_scatter */
};

static int parts(enum side side) { return side == NONE ? 0 : side == ONE ? 1 : ranks; }

/* What rank r contributes at index i, of its part for rank `to`, in this call. */
static int value(int r, int to, int i, int call) { return r + 3 * to + i % PERIOD + 5 * call; }
/* The sum of that over ranks 0 to n - 1. */
static int sum(int n, int to, int i, int call) { return n * (n - 1) / 2 + n * value(0, to, i, call); }

static void fill(const struct job* job, int call) {
  const int n = parts(job->operation->sends);
  for (int part = 0; job->send && part < n; ++part)
    for (int i = 0; i < job->count; ++i) job->send[(size_t)part * job->count + i] = value(rank, part, i, call);
  if (job->recv) memset(job->recv, 0xEE, (size_t)parts(job->operation->receives) * job->count * sizeof(int));
  if (strcmp(job->operation->name, "bcast") == 0 && rank == FIRST_ROOT)
    for (int i = 0; i < job->count; ++i) job->recv[i] = value(rank, 0, i, call);
}

static int expected(const char* name, int part, int i, int call) {
  if (strcmp(name, "bcast") == 0) return value(FIRST_ROOT, 0, i, call);
  if (strcmp(name, "reduce") == 0 || strcmp(name, "allreduce") == 0) return sum(ranks, 0, i, call);
  if (strncmp(name, "reduce_scatter", 14) == 0) return sum(ranks, rank, i, call);
  if (strcmp(name, "scan") == 0) return sum(rank + 1, 0, i, call);
  if (strcmp(name, "exscan") == 0) return sum(rank, 0, i, call);
  if (strcmp(name, "scatter") == 0) return value(FIRST_ROOT, rank, i, call);
  return value(part, strcmp(name, "alltoall") == 0 ? rank : 0, i, call);
}

static int is_right(const struct job* job, int call) {
  const char* const name = job->operation->name;
  if (!job->recv || (rank == 0 && strcmp(name, "exscan") == 0)) return 1;
  for (int part = 0; part < parts(job->operation->receives); ++part)
    for (int i = 0; i < job->count; ++i)
      if (job->recv[(size_t)part * job->count + i] != expected(name, part, i, call)) return 0;
  return 1;
}

static void run(const struct job* job) {
  const char* const name = job->operation->name;
  const MPI_Comm all = MPI_COMM_WORLD;
  const int n = job->count, root = FIRST_ROOT;
  if (strcmp(name, "barrier") == 0) MPI_Barrier(all);
  if (strcmp(name, "bcast") == 0) MPI_Bcast(job->recv, n, MPI_INT, root, all);
  if (strcmp(name, "reduce") == 0) MPI_Reduce(job->send, job->recv, n, MPI_INT, MPI_SUM, root, all);
  if (strcmp(name, "allreduce") == 0) MPI_Allreduce(job->send, job->recv, n, MPI_INT, MPI_SUM, all);
  if (strcmp(name, "gather") == 0) MPI_Gather(job->send, n, MPI_INT, job->recv, n, MPI_INT, root, all);
  if (strcmp(name, "scatter") == 0) MPI_Scatter(job->send, n, MPI_INT, job->recv, n, MPI_INT, root, all);
  if (strcmp(name, "allgather") == 0) MPI_Allgather(job->send, n, MPI_INT, job->recv, n, MPI_INT, all);
  if (strcmp(name, "alltoall") == 0) MPI_Alltoall(job->send, n, MPI_INT, job->recv, n, MPI_INT, all);
  if (strcmp(name, "reduce_scatter") == 0) MPI_Reduce_scatter(job->send, job->recv, job->counts, MPI_INT, MPI_SUM, all);
  if (strcmp(name, "reduce_scatter_block") == 0)
    MPI_Reduce_scatter_block(job->send, job->recv, n, MPI_INT, MPI_SUM, all);
  if (strcmp(name, "scan") == 0) MPI_Scan(job->send, job->recv, n, MPI_INT, MPI_SUM, all);
  if (strcmp(name, "exscan") == 0) MPI_Exscan(job->send, job->recv, n, MPI_INT, MPI_SUM, all);
}

/* The largest of all ranks' values, for each of a few, to all: up a binomial tree and down again. */
static void agree(double* values, int n) {
  enum { MAX_VALUES = 3, TAG = 0 };
  const MPI_Comm all = MPI_COMM_WORLD;
  double other[MAX_VALUES];
  int reach = 1; /* ranks below this one are up to so far away */
  for (; reach < ranks && !(rank & reach); reach *= 2) {
    if (rank + reach >= ranks) continue;
    PMPI_Recv(other, n, MPI_DOUBLE, rank + reach, TAG, all, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; ++i)
      if (other[i] > values[i]) values[i] = other[i];
  }
  if (rank > 0) {
    PMPI_Send(values, n, MPI_DOUBLE, rank - reach, TAG, all);
    PMPI_Recv(values, n, MPI_DOUBLE, rank - reach, TAG, all, MPI_STATUS_IGNORE);
  }
  while (reach /= 2)
    if (rank + reach < ranks) PMPI_Send(values, n, MPI_DOUBLE, rank + reach, TAG, all);
}

/* When this rank began, at the same moment as all, and when it was through. */
static void timed(const struct job* job, double* begin, double* end) {
  double moment = MPI_Wtime() + slack;
  agree(&moment, 1);
  const double rest = moment - MPI_Wtime();
  const struct timespec pause = {0, (long)(rest * 1e9)};
  nanosleep(&pause, NULL);
  *begin = MPI_Wtime();
  run(job);
  *end = MPI_Wtime();
}

static int* buffer(enum side side, int count, int everywhere) {
  if (!everywhere && rank != FIRST_ROOT) return NULL;
  return malloc((size_t)parts(side) * count * sizeof(int) + 1);
}

static void measure(const struct operation* operation, size_t bytes) {
  struct job job = {.operation = operation, .count = (int)(bytes / sizeof(int))};
  job.send = buffer(operation->sends, job.count, !operation->from_root);
  job.recv = buffer(operation->receives, job.count, !operation->to_root);
  job.counts = malloc(ranks * sizeof(int));
  for (int r = 0; r < ranks; ++r) job.counts[r] = job.count;
  fill(&job, 0);
  run(&job);
  int right = is_right(&job, 0);
  fill(&job, 1);
  double begin, end;
  timed(&job, &begin, &end);
  right &= is_right(&job, 1);
  double extremes[] = {-begin, end, !right};
  agree(extremes, 3);
  if (rank == 0) {
    printf("{\"operation\": \"%s\", \"bytes\": %zu, ", operation->name, bytes);
    printf(extremes[2] == 0 ? "\"seconds\": %.9g}\n" : "\"wrong\": \"result\"}\n", extremes[0] + extremes[1]);
    fflush(stdout);
  }
  free(job.send), free(job.recv), free(job.counts);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int a = 1; a < argc; ++a) {
    const char* const colon = strchr(argv[a], ':');
    for (size_t o = 0; colon && o < sizeof operations / sizeof *operations; ++o)
      if (strncmp(operations[o].name, argv[a], colon - argv[a]) == 0 && operations[o].name[colon - argv[a]] == '\0')
        measure(&operations[o], strtoull(colon + 1, NULL, 10));
  }
  MPI_Finalize();
  return 0;
}
