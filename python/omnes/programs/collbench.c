/* Times collective operations of whatever MPI it runs on; led by `omnes bench`, one command line at a time.

usage: collbench DIR | FILE
Overview: every rank reads commands from its own pipe DIR/command-<rank>, so that a job that is not being measured
sleeps in read() and leaves the CPUs to the others. Rank 0 answers on DIR/answers, one JSON object a line. Ranks that may
be on other hosts are given a FILE with a host, a port and a secret word instead, and each connects to whoever leads. CALL is
OPERATION BYTES TYPE COUNTS FORM REDUCTION BUFFERS, such as "gatherv 1024 double unequal nonblocking sum warm" (with
random or sparse counts BYTES is the largest part; BUFFERS may be touching-N, what the program touches between calls):
  check CALL                           ->  {"ok": true}                   or {"wrong": "..."}
  time CALL CALLS WARM                 ->  {"seconds": S, "loop": S}, of one call, and with what is between calls; or
                                           {"wrong": "..."}
  late CALL CALLS WARM ARRIVALS NANOSECONDS  ->  {"seconds": S, "inside": S, "loop": S}: ranks come by a pattern, up to so
                                           late; from the last arrival to the last return, and of a rank's time what it
                                           spends in the call, on average
  overlap CALL CALLS WARM UNITS TESTS  ->  {"pure": S, "computation": S, "total": S}, or {"wrong": "..."}
  overlap-asleep CALL CALLS WARM NANOSECONDS TESTS: the same, asleep instead of computing
  unit                                 ->  {"seconds": S}, of one unit of computation
  choose OPERATION CHOICE              ->  {"ok": true}; omnes runs this algorithm from now on
  quit
The first line says which forms there are, and whether omnes is loaded: {"persistent": true, "omnes": false}.
How: BYTES is one part. The data change before every call and the root goes round; cold buffers change with them, after
the idea of the Intel MPI Benchmarks' -off_cache. When timing, up to SMALL bytes the calls run in a closed loop,
refilling included, and the slowest rank counts; above, ranks meet before each call, only the call is timed, and what
counts is the mean of the times that the slowest rank of each call took (Hunold, Carpen-Amarie 2016, "Reproducible MPI
Benchmarking Is Still Not As Easy As You Think"), so that no rank gains by leaving before the others have their data. For
overlap they meet, too, and of all ranks' means the slowest counts, as in IMB-NBC. Ranks meet, and hand in times, through
a small mapped file, not through the MPI under test; where they are on several hosts, by messages of that MPI, which are
the same with omnes. After each batch the last result is checked, outside the time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collbench_calls.h"
#include "collbench_variety.h"

/* Looks at who has come before a yield; a rank that has its core for itself looks longer, as a yield may give the core
   to others for milliseconds. */
enum { SMALL = 1024, SPINS = 200, SPINS_ALONE = 100000, PATIENCE = 50000 };

/* Work without memory: one unit is a chain of so many dependent multiply-adds, near 100 ns. */
enum { CHAIN = 32, UNITS_TRIED = 20000, TRIALS = 5 };

enum { PURE, COMPUTATION, TOTAL, TIMES };

/* What a rank shows to the others; one writer each. */
struct line {
  _Alignas(128) _Atomic unsigned long arrived;
  double call[2];        /* seconds of the last call and of the one before it, by parity */
  double seconds[TIMES]; /* of the last command; of timed calls the first is theirs, the last that of the loop */
  long wrong;            /* index of the first wrong element, or -1 */
  double sink;           /* what was computed, so that it is */
};

static struct line* lines;
static unsigned long meetings;
static int asleep; /* instead of computing */
static int spins = SPINS;
static MPI_Comm apart = MPI_COMM_NULL; /* where ranks of several hosts meet; else they see each other's lines */
static MPI_Win window = MPI_WIN_NULL;  /* with the lines of ranks that are all on one host, and led from another */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Hensgen, Finkel, Manber 1988: in each step ranks learn of twice as many. */
static void meet_by_messages(void) {
  for (int step = 1; step < ranks; step *= 2)
    MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + step) % ranks, 0, NULL, 0, MPI_BYTE, (rank - step + ranks) % ranks, 0,
                 apart, MPI_STATUS_IGNORE);
}

/* Brings the lines of ranks that are apart to rank 0, up a binomial tree, and then down it the word that all are there: an
   MPI may call a message sent while its data still wait, so nobody may sleep before all have come. */
static void hand_in_lines(void) {
  const int bytes = sizeof(struct line);
  int step = 1;
  for (; step < ranks && !(rank & step); step *= 2) {
    const int from = rank + step, theirs = ranks - from < step ? ranks - from : step;
    if (theirs > 0) MPI_Recv(&lines[from], theirs * bytes, MPI_BYTE, from, 1, apart, MPI_STATUS_IGNORE);
  }
  if (rank > 0) {
    const int ours = ranks - rank < step ? ranks - rank : step;
    MPI_Ssend(&lines[rank], ours * bytes, MPI_BYTE, rank - step, 1, apart);
    MPI_Recv(NULL, 0, MPI_BYTE, rank - step, 3, apart, MPI_STATUS_IGNORE);
  }
  for (step /= 2; step > 0; step /= 2)
    if (rank + step < ranks) MPI_Ssend(NULL, 0, MPI_BYTE, rank + step, 3, apart);
}

/* At rank 0, in place: of each value the greatest of all ranks. */
static void hand_in_greatest(double* values, int count) {
  const MPI_Comm comm = apart != MPI_COMM_NULL ? apart : MPI_COMM_WORLD;
  double* const theirs = must(malloc(count * sizeof *theirs), "times");
  for (int step = 1; step < ranks; step *= 2) {
    if (rank & step) {
      MPI_Send(values, count, MPI_DOUBLE, rank - step, 2, comm);
      break;
    }
    if (rank + step >= ranks) continue;
    MPI_Recv(theirs, count, MPI_DOUBLE, rank + step, 2, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i)
      if (theirs[i] > values[i]) values[i] = theirs[i];
  }
  free(theirs);
}

/* An MPI may call a message sent while the data still wait for a connection, and bring them over only when called again:
   whoever waits long calls it. */
static void meet(void) {
  if (apart != MPI_COMM_NULL) {
    meet_by_messages();
    return;
  }
  atomic_store_explicit(&lines[rank].arrived, ++meetings, memory_order_release);
  for (int r = 0; r < ranks; ++r)
    for (int spin = 0; atomic_load_explicit(&lines[r].arrived, memory_order_acquire) < meetings; ++spin)
      if (spin > spins) {
        int any;
        sched_yield();
        if (spin > spins + PATIENCE) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
      }
}

static int has_own_core(void) {
  cpu_set_t usable;
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return sched_getaffinity(0, sizeof usable, &usable) == 0 && CPU_COUNT(&usable) == 1 && ranks <= cpus;
}

/* Computes so many units, or sleeps as many nanoseconds: then the CPU is free for others. */
static void compute(long units) {
  if (asleep) {
    const struct timespec length = {units / 1000000000, units % 1000000000};
    nanosleep(&length, NULL);
    return;
  }
  double x = lines[rank].sink;
  for (long i = 0; i < CHAIN * units; ++i) x = x * 0.75 + 0.25;
  lines[rank].sink = x;
}

/* Persistent requests exist from here on, one for each root. */
static void open_requests(const struct job* job, enum form form) {
  for (int root = 0; form == PERSISTENT && root < (traits[job->operation].rooted ? ranks : 1); ++root)
    call(job, form, root, &job->persistent[root]);
}
static void close_requests(const struct job* job, enum form form) {
  for (int root = 0; form == PERSISTENT && root < (traits[job->operation].rooted ? ranks : 1); ++root)
    MPI_Request_free(&job->persistent[root]);
}

/* Starts a call, or makes it when it is blocking; returns what to wait for, or null. */
static MPI_Request* start(const struct job* job, enum form form, int root, MPI_Request* fresh) {
  if (form == PERSISTENT) {
    MPI_Request* const request = &job->persistent[traits[job->operation].rooted ? root : 0];
    MPI_Start(request);
    return request;
  }
  call(job, form, root, fresh);
  return form == BLOCKING ? NULL : fresh;
}

static void run(struct job* job, enum form form, int root) {
  if (form > PERSISTENT || job->operation == TWENTY_CALLS) {
    run_varied(job, form, root);
    return;
  }
  MPI_Request fresh, *const request = start(job, form, root, &fresh);
  if (request) MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Every page of cold buffers takes part in calls before the clock starts: where ranks map each other's memory, the first
   use of a page costs what no later one does. Then the results are overwritten. */
static void use_pages(struct job* job) {
  const size_t apart = job->send.apart > job->recv.apart ? job->send.apart : job->recv.apart;
  for (size_t set = 0; set < job->sets; set += apart < PAGE ? PAGE / apart : 1) {
    use_set(job, set);
    for (int root = 0; root < (traits[job->operation].rooted ? ranks : 1); ++root) run(job, BLOCKING, root);
  }
  for (size_t set = 0; set < job->sets; ++set) {
    use_set(job, set);
    memset(job->recv.buffer, 0xff, job->recv.bytes);
  }
}

/* The end of a command: what ranks have to show is seen by rank 0. */
static void show(void) {
  if (apart != MPI_COMM_NULL)
    hand_in_lines();
  else
    meet();
}

/* How long the slowest rank took in a timed call. To be asked between the two meetings that follow the call. */
static double slowest_in(long call) {
  double most = 0;
  for (int r = 0; r < ranks; ++r)
    if (lines[r].call[call % 2] > most) most = lines[r].call[call % 2];
  return most;
}

/* The same, summed over calls, of ranks that are apart: what rank 0 has then counts, the others have no more. */
static double slowest_in_all(double* seconds, long calls) {
  double total = 0;
  hand_in_greatest(seconds, (int)calls);
  for (long i = 0; i < calls; ++i) total += seconds[i];
  free(seconds);
  return total;
}

/* Runs calls before the clock starts, then the timed ones; hands in the mean and whether the last result is right. */
static void measure(struct job* job, enum form form, long calls, long warm) {
  const int closed_loop = job->counts < RANDOM && job->touched == 0 && job->count * job->size <= SMALL;
  double total = 0, begin = 0, loop = 0;
  double* const each =
      apart != MPI_COMM_NULL && !closed_loop ? must(malloc(calls * sizeof(double)), "times") : NULL; /* seconds */
  long data = 0;
  open_requests(job, form);
  const unsigned long series = 2 * ++job->batches;
  for (long i = -warm; i < calls; ++i) {
    draw_counts(job, i < 0 ? series : series + 1, i < 0 ? i + warm : i);
    data = next_data(job, i + warm);
    if (i == 0 || !closed_loop) meet();
    if (!closed_loop && i > 0 && !each) total += slowest_in(i - 1);
    if (i == 0 || !closed_loop) begin = now();
    if (i == 0) loop = begin;
    run(job, form, root_of(job, i + warm));
    if (!closed_loop && i >= 0) *(each ? &each[i] : &lines[rank].call[i % 2]) = now() - begin;
  }
  if (closed_loop) total = now() - begin;
  meet();
  const double end = now();
  if (!closed_loop) total += each ? slowest_in_all(each, calls) : slowest_in(calls - 1);
  lines[rank].seconds[PURE] = total / calls;
  lines[rank].seconds[TOTAL] = (end - loop) / calls;
  lines[rank].wrong = first_wrong_of(job, form, root_of(job, calls + warm - 1), data);
  close_requests(job, form);
}

enum arrivals { TOGETHER, UNIFORM, ONE_LATE, HALF_LATE, SORTED, ARRIVALS };
static const char* const arrival_names[ARRIVALS] = {"together", "uniform", "one-late", "half-late", "sorted"};

/* Whether this rank is among so many that are drawn. */
static int is_among(long many, unsigned long draw) {
  long before = 0;
  for (int r = 0; r < ranks; ++r) before += mixed(draw, r) < mixed(draw, rank);
  return before < many;
}

/* Seconds that this rank is late, of at most so many. */
static double lateness(enum arrivals arrivals, double most, unsigned long draw) {
  switch (arrivals) {
    case UNIFORM: return most * (mixed(draw, rank) >> 11) / (1ul << 53);
    case ONE_LATE: return is_among(1, draw) ? most : 0;
    case HALF_LATE: return is_among(ranks / 2, draw) ? most : 0;
    case SORTED: return most * rank / (ranks - 1);
    default: return 0;
  }
}

/* As measure, of ranks that come late. */
static void measure_late(struct job* job, enum form form, long calls, long warm, enum arrivals arrivals, double most) {
  double* const came = must(malloc(2 * calls * sizeof *came), "times"); /* and then when they left */
  double inside = 0, loop = 0;
  long data = 0;
  const unsigned long series = ++job->batches;
  for (long i = -warm; i < calls; ++i) {
    const double late = lateness(arrivals, most, mixed(series, i));
    data = next_data(job, i + warm);
    meet();
    const double begin = now();
    if (i == 0) loop = begin;
    double at = begin;
    while (at < begin + late) at = now();
    run(job, form, root_of(job, i + warm));
    if (i < 0) continue;
    came[i] = at;
    came[calls + i] = now();
    inside += came[calls + i] - at;
  }
  meet();
  lines[rank].seconds[TOTAL] = (now() - loop) / calls;
  lines[rank].seconds[COMPUTATION] = inside / calls;
  lines[rank].wrong = first_wrong_of(job, form, root_of(job, calls + warm - 1), data);
  hand_in_greatest(came, (int)(2 * calls));
  double total = 0;
  for (long i = 0; i < calls; ++i) total += came[calls + i] - came[i];
  lines[rank].seconds[PURE] = rank == 0 ? total / calls : 0;
  free(came);
}

/* Starts a call, computes with so many MPI_Test spread through it, waits. */
static void run_beside(const struct job* job, enum form form, int root, long units, long tests) {
  MPI_Request fresh, *const request = start(job, form, root, &fresh);
  for (long t = 0, done = 0; t <= tests; ++t) {
    const long until = units * (t + 1) / (tests + 1);
    compute(until - done);
    done = until;
    int flag = 0;
    if (request && t < tests) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
  }
  if (request) MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* By turns the call alone, the computation alone, and the computation between start and wait. */
static void overlap(struct job* job, enum form form, long calls, long warm, long units, long tests) {
  double total[TIMES] = {0};
  lines[rank].wrong = -1;
  open_requests(job, form);
  for (long i = 0; i < calls + warm; ++i) {
    const int root = (int)(i % ranks);
    for (int what = 0; what < TIMES; ++what) {
      const long data = what == COMPUTATION ? 0 : next_data(job, i * TIMES + what);
      meet();
      const double begin = now();
      if (what == PURE) run(job, form, root);
      if (what == COMPUTATION) compute(units);
      if (what == TOTAL) run_beside(job, form, root, units, tests);
      if (i >= warm) total[what] += now() - begin;
      if (i == calls + warm - 1 && what != COMPUTATION && lines[rank].wrong < 0)
        lines[rank].wrong = first_wrong(job, root, data);
    }
  }
  for (int what = 0; what < TIMES; ++what) lines[rank].seconds[what] = total[what] / calls;
  close_requests(job, form);
}

/* Every root in turn, each result over the poisoned buffer. */
static void check(struct job* job, enum form form) {
  lines[rank].wrong = -1;
  open_requests(job, form);
  checking = 1;
  wrong_communicator = 0;
  const int least = job->counts >= RANDOM ? SWEEP : form == MANY_COMMUNICATORS ? COMMUNICATORS : 3;
  for (long i = 0; i < (ranks < least ? least : ranks); ++i) {
    draw_counts(job, 0, i);
    const int root = root_of(job, i);
    const long data = next_data(job, i);
    poison(job);
    run(job, form, root);
    if (lines[rank].wrong < 0) lines[rank].wrong = first_wrong_of(job, form, root, data);
  }
  checking = 0;
  close_requests(job, form);
}

/* The fastest of a few trials: a longer one was disturbed. */
static void time_unit(void) {
  double fastest = 1e9;
  for (int trial = 0; trial < TRIALS; ++trial) {
    const double begin = now();
    compute(UNITS_TRIED);
    const double seconds = (now() - begin) / UNITS_TRIED;
    if (seconds < fastest) fastest = seconds;
  }
  lines[rank].seconds[0] = fastest;
  lines[rank].wrong = -1;
}

/* Asks omnes for an algorithm; to any other MPI the key means nothing. */
static void choose(const struct job* job, const char* operation, const char* choice) {
  char key[64];
  snprintf(key, sizeof key, "omnes_%s", operation);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, choice);
  MPI_Comm_set_info(job->comm, info);
  MPI_Comm_set_info(job->ring, info);
  MPI_Info_free(&info);
  lines[rank].wrong = -1;
}

static double slowest(int what) {
  double most = 0;
  for (int r = 0; r < ranks; ++r)
    if (lines[r].seconds[what] > most) most = lines[r].seconds[what];
  return most;
}

static double average(int what) {
  double sum = 0;
  for (int r = 0; r < ranks; ++r) sum += lines[r].seconds[what];
  return sum / ranks;
}

static void answer(FILE* answers, const char* verb) {
  for (int r = 0; r < ranks; ++r)
    if (lines[r].wrong >= 0) {
      fprintf(answers, "{\"wrong\": \"rank %d has a wrong element %ld\"}\n", r, lines[r].wrong);
      return;
    }
  if (strcmp(verb, "check") == 0 || strcmp(verb, "choose") == 0)
    fprintf(answers, "{\"ok\": true}\n");
  else if (strncmp(verb, "overlap", 7) == 0)
    fprintf(answers, "{\"pure\": %.9e, \"computation\": %.9e, \"total\": %.9e}\n", slowest(PURE), slowest(COMPUTATION),
            slowest(TOTAL));
  else if (strcmp(verb, "late") == 0)
    fprintf(answers, "{\"seconds\": %.9e, \"inside\": %.9e, \"loop\": %.9e}\n", slowest(PURE), average(COMPUTATION),
            slowest(TOTAL));
  else
    fprintf(answers, "{\"seconds\": %.9e, \"loop\": %.9e}\n", slowest(PURE), slowest(TOTAL));
}

static int place(const char* name, const char* const* names, int count) {
  for (int i = 0; i < count; ++i)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

static int operation_named(const char* name) {
  for (int i = 0; i < OPERATIONS; ++i)
    if (strcmp(name, traits[i].name) == 0) return i;
  return -1;
}

/* Whether the words of a call go together: requests are bound to one buffer, reductions to types. */
static int sensible(enum operation operation, size_t bytes, enum type type, enum counts counts, enum form form,
                    enum reduction reduction, int cold) {
  if (form == PERSISTENT && (cold || !HAS_PERSISTENT)) return 0;
  if (!can_vary(operation, bytes, counts, form, cold)) return 0;
  if (!traits[operation].reduces) return reduction == SUM;
  return reduction == SUM ? type != DOUBLE_INT : type == (reduction == USER ? DOUBLE : DOUBLE_INT);
}

/* Does what a command line says; 0 when it makes no sense. */
static int obey(const char* line, struct job* job) {
  static char before[160]; /* the words that the buffers are set up for */
  char verb[16] = "", operation[32], type[16], counts[16], form[24], reduction[16], buffers[24], words_now[160];
  size_t bytes;
  char beside[16]; /* what calls are timed beside: units of computation, or late ranks */
  long calls, warm, last;
  const int words = sscanf(line, "%15s %31s %zu %15s %15s %23s %15s %23s %ld %ld %15s %ld", verb, operation, &bytes,
                           type, counts, form, reduction, buffers, &calls, &warm, beside, &last);
  if (words == 1 && strcmp(verb, "unit") == 0) return time_unit(), 1;
  char choice[128];
  if (strcmp(verb, "choose") == 0 && sscanf(line, "%*s %31s %127s", operation, choice) == 2)
    return choose(job, operation, choice), 1;
  if (words < 8) return 0;
  asleep = strcmp(verb, "overlap-asleep") == 0;
  prctl(PR_SET_TIMERSLACK, asleep ? 1UL : 0UL); /* wake when told, or within 50 us, which is usual */
  const int o = operation_named(operation), t = place(type, types, TYPES), f = place(form, forms, FORMS);
  const int r = place(reduction, reductions, REDUCTIONS), cold = strcmp(buffers, "cold") == 0;
  const int c = place(counts, count_names, COUNTS), a = words == 12 ? place(beside, arrival_names, ARRIVALS) : -1;
  if (o < 0 || t < 0 || f < 0 || r < 0 || c < 0) return 0;
  if (!sensible((enum operation)o, bytes, (enum type)t, (enum counts)c, (enum form)f, (enum reduction)r, cold))
    return 0;
  snprintf(words_now, sizeof words_now, "%s %zu %s %s %s %s", operation, bytes, type, counts, reduction, buffers);
  if (strcmp(words_now, before) != 0) {
    set_up(job, (enum operation)o, (enum type)t, o == BARRIER ? 0 : bytes, (enum counts)c, (enum reduction)r, cold);
    job->touched = bytes_touched(buffers);
    if (job->sets > 1) use_pages(job);
  }
  set_up_variety(job, (enum form)f);
  strcpy(before, words_now);
  if (words == 8 && strcmp(verb, "check") == 0)
    check(job, (enum form)f);
  else if (words == 10 && strcmp(verb, "time") == 0)
    measure(job, (enum form)f, calls, warm);
  else if (words == 12 && f <= PERSISTENT && c < RANDOM && (strcmp(verb, "overlap") == 0 || asleep))
    overlap(job, (enum form)f, calls, warm, atol(beside), last);
  else if (words == 12 && f == BLOCKING && c < RANDOM && strcmp(verb, "late") == 0 && a >= 0)
    measure_late(job, (enum form)f, calls, warm, (enum arrivals)a, 1e-9 * last);
  else
    return 0;
  return 1;
}

/* Whether a library of omnes is in this process; a loader that cannot preload one only warns. */
static int omnes_is_loaded(void) {
  FILE* maps = must(fopen("/proc/self/maps", "r"), "/proc/self/maps");
  char line[4096];
  int found = 0;
  while (fgets(line, sizeof line, maps)) found |= strstr(line, "/libomnes-") != NULL;
  fclose(maps);
  return found;
}

/* A socket of whoever leads, to whom this rank has said which one it is. */
static int connected(const char* path) {
  char host[256], port[16], word[64];
  FILE* file = must(fopen(path, "r"), path);
  if (fscanf(file, "%255s %15s %63s", host, port, word) != 3) must(NULL, path);
  fclose(file);
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo* addresses = NULL;
  int to = -1;
  getaddrinfo(host, port, &hints, &addresses);
  for (const struct addrinfo* one = addresses; one && to < 0; one = one->ai_next) {
    to = socket(one->ai_family, one->ai_socktype, one->ai_protocol);
    if (to >= 0 && connect(to, one->ai_addr, one->ai_addrlen) != 0) {
      close(to);
      to = -1;
    }
  }
  if (addresses) freeaddrinfo(addresses);
  char name[512], here[256] = "";
  gethostname(here, sizeof here - 1);
  snprintf(name, sizeof name, "port %s of %s from %s", port, host, here);
  must(to < 0 ? NULL : name, name);
  const int at_once = 1;
  setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  dprintf(to, "%s %010d\n", word, rank);
  return to;
}

/* Where ranks meet that are led from anywhere: in memory where they share some. */
static void find_a_place_to_meet(void) {
  MPI_Comm node;
  int size;
  const size_t bytes = sizeof(struct line) * ranks;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &size);
  if (size < ranks) {
    lines = must(calloc(ranks, sizeof(struct line)), "lines");
    MPI_Comm_dup(MPI_COMM_WORLD, &apart);
  } else {
    MPI_Aint there;
    int unit;
    MPI_Win_allocate_shared(rank == 0 ? bytes + sizeof(struct line) : 0, 1, MPI_INFO_NULL, node, &lines, &window);
    MPI_Win_shared_query(window, 0, &there, &unit, &lines);
    lines = (struct line*)(((size_t)lines + sizeof(struct line) - 1) / sizeof(struct line) * sizeof(struct line));
    if (rank == 0) memset(lines, 0, bytes);
    MPI_Barrier(node);
  }
  MPI_Comm_free(&node);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) {
    if (rank == 0) fprintf(stderr, "usage: collbench DIR | FILE   (started by omnes bench)\n");
    MPI_Finalize();
    return 2;
  }
  struct stat facts;
  FILE *commands, *answers = NULL;
  if (stat(argv[1], &facts) == 0 && !S_ISDIR(facts.st_mode)) {
    const int to = connected(argv[1]);
    commands = must(fdopen(to, "r"), argv[1]);
    if (rank == 0) answers = must(fdopen(dup(to), "w"), argv[1]);
    find_a_place_to_meet();
  } else {
    char path[4096];
    snprintf(path, sizeof path, "%s/meeting", argv[1]);
    const int file = open(path, O_RDWR);
    lines = must(mmap(NULL, sizeof(struct line) * ranks, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), path);
    snprintf(path, sizeof path, "%s/command-%d", argv[1], rank);
    commands = must(fopen(path, "r"), path);
    snprintf(path, sizeof path, "%s/answers", argv[1]);
    if (rank == 0) answers = must(fopen(path, "w"), path);
  }
  if (has_own_core()) spins = SPINS_ALONE;
  struct job job = {0};
  prepare(&job);
  show();
  if (answers)
    fprintf(answers, "{\"persistent\": %s, \"omnes\": %s}\n", HAS_PERSISTENT ? "true" : "false",
            omnes_is_loaded() ? "true" : "false");

  char line[256], verb[16];
  int told = 0;
  while ((answers == NULL || fflush(answers) == 0) && fgets(line, sizeof line, commands)) {
    if (sscanf(line, "%15s", verb) != 1) break;
    told = strcmp(verb, "quit") == 0;
    if (told) break;
    const int understood = obey(line, &job);
    if (understood) show();
    if (answers && understood) answer(answers, verb);
    if (answers && !understood) fprintf(answers, "{\"wrong\": \"no such command\"}\n");
  }
  if (!told) MPI_Abort(MPI_COMM_WORLD, 1); /* who leads is gone, perhaps between telling one rank and the next */
  set_up_variety(&job, BLOCKING);
  MPI_Op_free(&job.user);
  MPI_Comm_free(&job.ring);
  if (apart != MPI_COMM_NULL) MPI_Comm_free(&apart);
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
