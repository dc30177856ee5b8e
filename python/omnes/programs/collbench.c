/* Times collective operations of whatever MPI it runs on; led by `omnes bench`, one command line at a time.

Overview: every rank reads commands from its own pipe DIR/command-<rank>, so that a job that is not being measured sleeps in read() and
leaves the CPUs to the others. Rank 0 answers on DIR/answers, one JSON object a line:
  time OP BYTES TYPE CALLS WARM   ->  {"seconds": S}, of one call   or {"wrong": "..."}
  check OP BYTES TYPE             ->  {"ok": true}                  or {"wrong": "..."}
  quit
How: BYTES is what MPI's count means: one part. The data change before every call and the root goes round. Up to SMALL bytes the calls run in a
closed loop, refilling included; above, ranks meet before each call and only the call is timed. The mean of a rank's calls counts,
and of all ranks the slowest. Ranks meet, and hand in times, through a small mapped file, not through the MPI under test.
After each batch the last result is checked, outside the time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 1024, PERIOD = 16, SPINS = 200, PAGE = 4096 };

/* What a rank shows to the others; one writer each. */
struct line {
  _Alignas(128) _Atomic unsigned long arrived;
  double seconds;
  long wrong; /* index of the first wrong element, or -1 */
};

static int rank, ranks;
static struct line* lines;
static unsigned long meetings;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void meet(void) {
  atomic_store_explicit(&lines[rank].arrived, ++meetings, memory_order_release);
  for (int r = 0; r < ranks; ++r)
    for (int spin = 0; atomic_load_explicit(&lines[r].arrived, memory_order_acquire) < meetings; ++spin)
      if (spin > SPINS) sched_yield();
}

static const char* const operations[] = {"barrier", "bcast",   "reduce",    "allreduce",
                                         "gather",  "scatter", "allgather", "alltoall"};
enum operation { BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL };
static const char* const types[] = {"int", "float", "double"};
enum type { INT, FLOAT, DOUBLE };

static int place(const char* name, const char* const* names, int count) {
  for (int i = 0; i < count; ++i)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

struct job {
  enum operation operation;
  enum type type;
  size_t size;  /* of an element */
  size_t count; /* elements of a part */
  char *send, *recv;
};

/* What rank r has at index i in call c: small whole numbers, so that sums are exact in every type. */
static unsigned value(int r, size_t i, long c) { return (unsigned)(i + r + 3 * c) % PERIOD; }

static size_t sent(const struct job* job) {
  return job->operation == SCATTER || job->operation == ALLTOALL ? job->count * ranks : job->count;
}
static size_t received(const struct job* job) {
  return job->operation == GATHER || job->operation == ALLGATHER || job->operation == ALLTOALL ? job->count * ranks
                                                                                               : job->count;
}

static void fill(const struct job* job, long call) {
  const size_t n = sent(job);
  if (job->type == INT)
    for (size_t i = 0; i < n; ++i) ((int*)job->send)[i] = (int)value(rank, i, call);
  if (job->type == FLOAT)
    for (size_t i = 0; i < n; ++i) ((float*)job->send)[i] = (float)value(rank, i, call);
  if (job->type == DOUBLE)
    for (size_t i = 0; i < n; ++i) ((double*)job->send)[i] = (double)value(rank, i, call);
}

static void run(const struct job* job, int root) {
  const MPI_Datatype type = job->type == INT ? MPI_INT : job->type == FLOAT ? MPI_FLOAT : MPI_DOUBLE;
  const int n = (int)job->count;
  switch (job->operation) {
    case BARRIER: MPI_Barrier(MPI_COMM_WORLD); break;
    case BCAST: MPI_Bcast(rank == root ? job->send : job->recv, n, type, root, MPI_COMM_WORLD); break;
    case REDUCE: MPI_Reduce(job->send, job->recv, n, type, MPI_SUM, root, MPI_COMM_WORLD); break;
    case ALLREDUCE: MPI_Allreduce(job->send, job->recv, n, type, MPI_SUM, MPI_COMM_WORLD); break;
    case GATHER: MPI_Gather(job->send, n, type, job->recv, n, type, root, MPI_COMM_WORLD); break;
    case SCATTER: MPI_Scatter(job->send, n, type, job->recv, n, type, root, MPI_COMM_WORLD); break;
    case ALLGATHER: MPI_Allgather(job->send, n, type, job->recv, n, type, MPI_COMM_WORLD); break;
    case ALLTOALL: MPI_Alltoall(job->send, n, type, job->recv, n, type, MPI_COMM_WORLD); break;
  }
}

static double expected(const struct job* job, size_t i, int root, long call) {
  const int from = (int)(i / job->count);
  double sum = 0;
  switch (job->operation) {
    case BCAST: return value(root, i, call);
    case REDUCE:
    case ALLREDUCE:
      for (int r = 0; r < ranks; ++r) sum += value(r, i, call);
      return sum;
    case GATHER:
    case ALLGATHER: return value(from, i % job->count, call);
    case SCATTER: return value(root, rank * job->count + i, call);
    case ALLTOALL: return value(from, rank * job->count + i % job->count, call);
    default: return 0;
  }
}

static double element(const struct job* job, size_t i) {
  return job->type == INT     ? ((int*)job->recv)[i]
         : job->type == FLOAT ? ((float*)job->recv)[i]
                              : ((double*)job->recv)[i];
}

/* Index of the first wrong element of this rank's result, or -1. */
static long first_wrong(const struct job* job, int root, long call) {
  const int only_root = job->operation == REDUCE || job->operation == GATHER;
  if (job->operation == BARRIER || (only_root && rank != root) || (job->operation == BCAST && rank == root)) return -1;
  for (size_t i = 0; i < received(job); ++i)
    if (element(job, i) != expected(job, i, root, call)) return (long)i;
  return -1;
}

/* Runs calls before the clock starts, then the timed ones; hands in the mean and whether the last result is right. */
static void measure(const struct job* job, long calls, long warm) {
  const int closed_loop = job->count * job->size <= SMALL;
  double total = 0, start = 0;
  for (long call = -warm; call < calls; ++call) {
    fill(job, call + warm);
    if (call == 0 || !closed_loop) meet();
    if (call == 0 || !closed_loop) start = now();
    run(job, (int)((call + warm) % ranks));
    if (!closed_loop && call >= 0) total += now() - start;
  }
  if (closed_loop) total = now() - start;
  const long last = calls + warm - 1;
  lines[rank].seconds = total / calls;
  lines[rank].wrong = first_wrong(job, (int)(last % ranks), last);
}

/* Every root in turn, each result over the poisoned buffer. */
static void check(const struct job* job) {
  lines[rank].wrong = -1;
  for (long call = 0; call < (ranks < 3 ? 3 : ranks) && lines[rank].wrong < 0; ++call) {
    fill(job, call);
    memset(job->recv, 0xff, received(job) * job->size);
    run(job, (int)(call % ranks));
    lines[rank].wrong = first_wrong(job, (int)(call % ranks), call);
  }
}

static void answer(FILE* answers, int timed) {
  double slowest = 0;
  for (int r = 0; r < ranks; ++r) {
    if (lines[r].wrong >= 0) {
      fprintf(answers, "{\"wrong\": \"rank %d has a wrong element %ld\"}\n", r, lines[r].wrong);
      return;
    }
    if (lines[r].seconds > slowest) slowest = lines[r].seconds;
  }
  if (timed)
    fprintf(answers, "{\"seconds\": %.9e}\n", slowest);
  else
    fprintf(answers, "{\"ok\": true}\n");
}

static void* must(void* pointer, const char* what) {
  if (pointer != NULL && pointer != MAP_FAILED) return pointer;
  fprintf(stderr, "collbench: cannot open or allocate %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static void* grown(void* old, size_t* have, size_t need) {
  if (need <= *have) return old;
  free(old);
  *have = (need + PAGE - 1) / PAGE * PAGE;
  void* fresh = must(aligned_alloc(PAGE, *have), "a buffer");
  memset(fresh, 0, *have);
  return fresh;
}

/* Fills in the job that a command asks for; 0 when the command makes no sense. */
static int parse(const char* operation, size_t bytes, const char* type, struct job* job) {
  static size_t have_send, have_recv;
  const int o = place(operation, operations, 8), t = place(type, types, 3);
  if (o < 0 || t < 0) return 0;
  job->operation = (enum operation)o;
  job->type = (enum type)t;
  job->size = t == INT ? sizeof(int) : t == FLOAT ? sizeof(float) : sizeof(double);
  job->count = o == BARRIER ? 0 : bytes / job->size;
  job->send = grown(job->send, &have_send, sent(job) * job->size + 1);
  job->recv = grown(job->recv, &have_recv, received(job) * job->size + 1);
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) {
    if (rank == 0) fprintf(stderr, "usage: collbench DIR   (started by omnes bench)\n");
    MPI_Finalize();
    return 2;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/meeting", argv[1]);
  const int file = open(path, O_RDWR);
  lines = must(mmap(NULL, sizeof(struct line) * ranks, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), path);
  snprintf(path, sizeof path, "%s/command-%d", argv[1], rank);
  FILE* commands = must(fopen(path, "r"), path);
  snprintf(path, sizeof path, "%s/answers", argv[1]);
  FILE* answers = rank == 0 ? must(fopen(path, "w"), path) : NULL;
  meet();
  if (answers) fprintf(answers, "{\"ready\": true}\n");

  struct job job = {0};
  char line[256];
  while ((answers == NULL || fflush(answers) == 0) && fgets(line, sizeof line, commands)) {
    char verb[16], operation[16], type[16];
    size_t bytes;
    long calls = 1, warm = 0;
    const int words = sscanf(line, "%15s %15s %zu %15s %ld %ld", verb, operation, &bytes, type, &calls, &warm);
    if (strcmp(verb, "quit") == 0) break;
    const int timed = strcmp(verb, "time") == 0;
    if (words != (timed ? 6 : 4) || !parse(operation, bytes, type, &job)) {
      if (answers) fprintf(answers, "{\"wrong\": \"no such command\"}\n");
      continue;
    }
    if (timed)
      measure(&job, calls, warm);
    else
      check(&job);
    meet();
    if (answers) answer(answers, timed);
  }
  MPI_Finalize();
  return 0;
}
