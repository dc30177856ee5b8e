/* What a call costs by itself, and what ranks that share CPUs spend on it; led by bench/overhead.

   overhead alone OPERATION CALLS      of rank 0: calls that wait for nobody, since it only sends
   overhead fresh OPERATION CALLS      the same, of other sizes each time: 8 to 56 bytes a part
   overhead together OPERATION CALLS   all ranks, in a loop

OPERATION: bcast, reduce, gather, scatter, gatherv, scatterv, allreduce, alltoall or barrier, of 8 bytes; or send, recv,
wait or test, of no bytes and with nobody. Prints, as JSON: alone, the
nanoseconds of a call (the median; each after a barrier, and less what it takes to look at the clock) and its
instructions, the whole and up to its first store into memory that other processes see; together, the seconds of a
call, and how often it switched to another process, of all ranks.

Instructions are counted by single steps (x86-64, Linux): with the trap flag set, each raises SIGTRAP; the shared memory
is read-only meanwhile, so the first store into it raises SIGSEGV. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <ucontext.h>

enum { STEPPED = 100, MOST_RANKS = 1024, MOST_MAPPINGS = 256, TRAP_FLAG = 0x100 };

static double sent[7 * MOST_RANKS], received[7 * MOST_RANKS];
static int ranks, rank, other;

/* Elements of a part. */
static int count = 1, changes;
static void next_count(void) {
  if (changes) count = count % 7 + 1;
}

static void bcast(void) { MPI_Bcast(sent, count, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void scatter(void) { MPI_Scatter(sent, count, MPI_DOUBLE, received, count, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void reduce(void) { MPI_Reduce(sent, received, count, MPI_DOUBLE, MPI_SUM, other, MPI_COMM_WORLD); }
static void gather(void) { MPI_Gather(sent, count, MPI_DOUBLE, received, count, MPI_DOUBLE, other, MPI_COMM_WORLD); }
static int counts[MOST_RANKS], places[MOST_RANKS];
static void lay_out(void) {
  for (int r = 0; r < ranks; ++r) counts[r] = count, places[r] = r * count;
}
static void scatterv(void) {
  MPI_Scatterv(sent, counts, places, MPI_DOUBLE, received, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static void gatherv(void) {
  MPI_Gatherv(sent, count, MPI_DOUBLE, received, counts, places, MPI_DOUBLE, other, MPI_COMM_WORLD);
}
static void send(void) { MPI_Send(sent, 0, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD); }
static void recv(void) { MPI_Recv(received, 0, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void wait_for(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  MPI_Wait(&none, MPI_STATUS_IGNORE);
}
static void test(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  int flag;
  MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
}
static void allreduce(void) { MPI_Allreduce(sent, received, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void alltoall(void) { MPI_Alltoall(sent, 1, MPI_DOUBLE, received, 1, MPI_DOUBLE, MPI_COMM_WORLD); }
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

typedef void (*Call)(void);
static const struct {
  const char* name;
  Call call;
} operations[] = {{"bcast", bcast},     {"scatter", scatter},     {"reduce", reduce},
                  {"gather", gather},   {"allreduce", allreduce}, {"alltoall", alltoall},
                  {"barrier", barrier}, {"scatterv", scatterv},   {"gatherv", gatherv},
                  {"send", send},       {"recv", recv},           {"wait", wait_for},
                  {"test", test}};

static struct {
  char* begin;
  size_t length;
} mappings[MOST_MAPPINGS];
static int mapping_count;

static void find_shared_mappings(void) {
  FILE* file = fopen("/proc/self/maps", "r");
  char line[4096];
  while (file && fgets(line, sizeof line, file) && mapping_count < MOST_MAPPINGS) {
    unsigned long begin, end;
    char access[5];
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, access) != 3 || strcmp(access, "rw-s") != 0) continue;
    mappings[mapping_count].begin = (char*)begin;
    mappings[mapping_count++].length = end - begin;
  }
  if (file) fclose(file);
}

static void protect(int access) {
  for (int i = 0; i < mapping_count; ++i)
    if (mprotect(mappings[i].begin, mappings[i].length, access) != 0) {
      perror("overhead: mprotect");
      _exit(1);
    }
}

static volatile long steps, until_store;
static Call stepped;

/* Where stepping ends: the first instruction after the call's return and this call. */
__attribute__((noinline)) static void returned(void) { __asm__ volatile("" ::: "memory"); }

static void on_step(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  registers[REG_EFL] |= TRAP_FLAG;
  ++steps;
  if (registers[REG_RIP] == (greg_t)stepped)
    steps = 0;
  else if (registers[REG_RIP] == (greg_t)returned)
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static void on_store(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  for (int i = 0; i < mapping_count; ++i)
    if ((char*)info->si_addr >= mappings[i].begin && (char*)info->si_addr < mappings[i].begin + mappings[i].length) {
      until_store = steps;
      protect(PROT_READ | PROT_WRITE);
      return;
    }
  fprintf(stderr, "overhead: segmentation fault\n");
  _exit(1);
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, count, sizeof *values, by_size);
  return values[count / 2];
}

/* Of the middle half: finer than a clock that ticks in tens of nanoseconds. */
static double middle_mean(double* values, int count) {
  qsort(values, count, sizeof *values, by_size);
  double sum = 0;
  for (int i = count / 4; i < count - count / 4; ++i) sum += values[i];
  return sum / (count - count / 4 * 2);
}

static void step(Call call, double* whole, double* store) {
  struct sigaction on = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &on, NULL);
  on.sa_sigaction = on_store;
  sigaction(SIGSEGV, &on, NULL);
  find_shared_mappings();
  stepped = call;
  double wholes[STEPPED], stores[STEPPED];
  for (int i = 0; i < STEPPED; ++i) {
    until_store = 0;
    next_count();
    lay_out();
    protect(PROT_READ);
    raise(SIGTRAP);
    call();
    returned();
    wholes[i] = steps;
    stores[i] = until_store;
    if (until_store == 0) protect(PROT_READ | PROT_WRITE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  *whole = median(wholes, STEPPED);
  *store = median(stores, STEPPED);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

static void alone(Call call, int calls) {
  double *with = malloc(sizeof *with * calls), *without = malloc(sizeof *without * calls);
  for (int i = 0; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    next_count();
    lay_out();
    const double first = now(), second = now();
    call();
    with[i] = now() - second;
    without[i] = second - first;
  }
  double whole, store;
  if (rank == 0)
    step(call, &whole, &store);
  else
    for (int i = 0; i < STEPPED; ++i) {
      next_count();
      lay_out();
      call();
      MPI_Barrier(MPI_COMM_WORLD);
    }
  if (rank == 0)
    printf("{\"ns\": %.0f, \"instructions\": %.0f, \"to_store\": %.0f}\n",
           middle_mean(with, calls) - middle_mean(without, calls), whole, store);
  free(with);
  free(without);
}

static void together(Call call, int calls) {
  struct rusage before, after;
  for (int i = 0; i < calls / 10; ++i) call();
  MPI_Barrier(MPI_COMM_WORLD);
  getrusage(RUSAGE_SELF, &before);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) call();
  double mine[2] = {MPI_Wtime() - begin}, most, sum;
  getrusage(RUSAGE_SELF, &after);
  mine[1] = after.ru_nvcsw - before.ru_nvcsw + after.ru_nivcsw - before.ru_nivcsw;
  MPI_Reduce(&mine[0], &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine[1], &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("{\"seconds\": %.9e, \"switches\": %.3f}\n", most / calls, sum / calls);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  other = ranks > 1 ? 1 : 0;
  Call call = NULL;
  for (size_t i = 0; argc == 4 && i < sizeof operations / sizeof *operations; ++i)
    if (strcmp(operations[i].name, argv[2]) == 0) call = operations[i].call;
  if (call == NULL || ranks > MOST_RANKS) {
    if (rank == 0)
      fprintf(stderr, "usage: overhead alone|fresh|together OPERATION COUNT, on at most %d ranks\n", MOST_RANKS);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  changes = strcmp(argv[1], "fresh") == 0;
  lay_out();
  (strcmp(argv[1], "together") == 0 ? together : alone)(call, atoi(argv[3]));
  MPI_Finalize();
  return 0;
}
