/* What a call costs by itself, and what ranks that share CPUs spend on it; led by bench/overhead.py.

   overhead alone OPERATION CALLS [TRACE [BYTES...]]   of rank 0: calls that wait for nobody, since it only sends
   overhead fresh OPERATION CALLS [TRACE [BYTES...]]   the same, of other sizes each time: 8 to 56 bytes a part
   overhead together OPERATION CALLS                   all ranks, in a loop

OPERATION: bcast, reduce, gather, scatter, gatherv, scatterv, allreduce, alltoall or barrier, of 8 bytes; or send, recv,
wait or test, of no bytes and with nobody; or nothing, which reads some lines and calls nobody. Prints, as JSON: alone,
the nanoseconds of a call (of the middle half; each after a barrier, and less what it takes to look at the clock), the
same after each rank has written to so many BYTES of its own, and its
instructions, the whole and up to its first store into memory that other processes see; together, the seconds of a
call, and how often it switched to another process, of all ranks.

Instructions are counted by single steps (x86-64, Linux): with the trap flag set, each raises SIGTRAP; the shared memory
is read-only meanwhile, so the first store into it raises SIGSEGV. What calls touch follows from the registers before
each instruction: the file TRACE (none: -) gets them, and TRACE.maps what lies where; bench/touched.py reads both. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { STEPPED = 100, MAX_RANKS = 1024, MAX_MAPPINGS = 256, TRAP_FLAG = 0x100, LINE = 64 };

static double sent[7 * MAX_RANKS], received[7 * MAX_RANKS];
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
static int counts[MAX_RANKS], displs[MAX_RANKS];
static void lay_out(void) {
  for (int r = 0; r < ranks; ++r) counts[r] = count, displs[r] = r * count;
}
static void scatterv(void) {
  MPI_Scatterv(sent, counts, displs, MPI_DOUBLE, received, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static void gatherv(void) {
  MPI_Gatherv(sent, count, MPI_DOUBLE, received, counts, displs, MPI_DOUBLE, other, MPI_COMM_WORLD);
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

/* Every second line, of two pages: what the tool says of this is known. */
enum { KNOWN_LINES = 37 };
static volatile char known[KNOWN_LINES][2 * LINE] __attribute__((aligned(4096)));
static void nothing(void) {
  for (int i = 0; i < KNOWN_LINES; ++i) (void)known[i][0];
}

typedef void (*Call)(void);
static const struct {
  const char* name;
  Call call;
} operations[] = {{"bcast", bcast},         {"scatter", scatter},   {"reduce", reduce},   {"gather", gather},
                  {"allreduce", allreduce}, {"alltoall", alltoall}, {"barrier", barrier}, {"scatterv", scatterv},
                  {"gatherv", gatherv},     {"send", send},         {"recv", recv},       {"wait", wait_for},
                  {"test", test},           {"nothing", nothing}};

static struct {
  char* begin;
  size_t length;
} mappings[MAX_MAPPINGS];
static int mapping_count;

static void find_shared_mappings(void) {
  FILE* file = fopen("/proc/self/maps", "r");
  char line[4096];
  while (file && fgets(line, sizeof line, file) && mapping_count < MAX_MAPPINGS) {
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

/* The last calls are traced: of each of their instructions the registers before it, and its first bytes. */
enum { TRACED = 15, REGISTERS = REG_EFL + 1, MAX_STEPS = 1 << 16 };
struct Step {
  uint64_t registers[REGISTERS];
  unsigned char code[16];
};
static struct Step trace[MAX_STEPS];

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
  if (steps < MAX_STEPS) memcpy(trace[steps].registers, registers, sizeof trace->registers);
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

static void must(int well, const char* what) {
  if (well) return;
  perror(what);
  _exit(1);
}

/* What lies where, and where the thread's own data begin. */
static FILE* open_trace(const char* name) {
  char maps[4096], line[4096];
  snprintf(maps, sizeof maps, "%s.maps", name);
  FILE *from = fopen("/proc/self/maps", "r"), *to = fopen(maps, "w"), *file = fopen(name, "wb");
  must(from && to && file, maps);
  while (fgets(line, sizeof line, from)) fputs(line, to);
  must(fclose(to) == 0, maps);
  fclose(from);
  uint64_t thread = 0;
  must(syscall(SYS_arch_prctl, ARCH_GET_FS, &thread) == 0, "arch_prctl");
  fwrite(&thread, sizeof thread, 1, file);
  return file;
}

/* From its first instruction until it has returned: then less is on the stack. */
static void write_trace(FILE* file) {
  const int memory = open("/proc/self/mem", O_RDONLY);
  uint64_t length = 0;
  for (; trace[length].registers[REG_RSP] <= trace[0].registers[REG_RSP]; ++length) {
    if (length == MAX_STEPS - 1) must(0, "overhead: too long a call to trace");
    must(pread(memory, trace[length].code, sizeof trace->code, trace[length].registers[REG_RIP]) > 0, "/proc/self/mem");
  }
  close(memory);
  fwrite(&length, sizeof length, 1, file);
  must(fwrite(trace, sizeof *trace, length, file) == length, "overhead: cannot write the trace");
}

static void step(Call call, FILE* traces, double* whole, double* store) {
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
    if (traces && i >= STEPPED - TRACED) write_trace(traces);
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

/* Writes to each line. */
static void touch(volatile char* memory, size_t bytes) {
  for (size_t i = 0; i < bytes; i += LINE) ++memory[i];
}

/* Of a call, each after a barrier and, where there are bytes, after all ranks have written to as many. The clock's code is in the
   caches. */
static double nanoseconds(Call call, int calls, size_t bytes) {
  double with[calls], without[calls];
  char* memory = malloc(bytes + 1);
  must(memory != NULL, "overhead: malloc");
  for (int i = 0; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    touch(memory, bytes);
    next_count();
    lay_out();
    if (bytes > 0) now();
    const double first = now(), second = now();
    call();
    with[i] = now() - second;
    without[i] = second - first;
  }
  free(memory);
  return middle_mean(with, calls) - middle_mean(without, calls);
}

/* To touch much takes long. */
static int cold_calls(size_t bytes) { return bytes <= 4 << 20 ? 300 : 60; }

static void alone(Call call, int calls, const char* name, char** sizes) {
  const double ns = nanoseconds(call, calls, 0);
  if (rank == 0) printf("{\"ns\": %.0f, ", ns);
  for (; name && *sizes; ++sizes) {
    const size_t bytes = strtoul(*sizes, NULL, 10);
    const double cold = nanoseconds(call, cold_calls(bytes), bytes);
    if (rank == 0) printf("\"ns after %zu\": %.0f, ", bytes, cold);
  }
  double whole, store;
  if (rank == 0) {
    FILE* traces = name && strcmp(name, "-") != 0 ? open_trace(name) : NULL;
    step(call, traces, &whole, &store);
    if (traces) must(fclose(traces) == 0, name);
    printf("\"instructions\": %.0f, \"to_store\": %.0f}\n", whole, store);
  } else
    for (int i = 0; i < STEPPED; ++i) {
      next_count();
      lay_out();
      call();
      MPI_Barrier(MPI_COMM_WORLD);
    }
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
  for (size_t i = 0; argc >= 4 && i < sizeof operations / sizeof *operations; ++i)
    if (strcmp(operations[i].name, argv[2]) == 0) call = operations[i].call;
  if (call == NULL || ranks > MAX_RANKS) {
    if (rank == 0)
      fprintf(stderr, "usage: overhead alone|fresh|together OPERATION CALLS [TRACE [BYTES...]], on at most %d ranks\n",
              MAX_RANKS);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  changes = strcmp(argv[1], "fresh") == 0;
  lay_out();
  if (strcmp(argv[1], "together") == 0)
    together(call, atoi(argv[3]));
  else
    alone(call, atoi(argv[3]), argv[4], argc > 4 ? argv + 5 : NULL);
  MPI_Finalize();
  return 0;
}
