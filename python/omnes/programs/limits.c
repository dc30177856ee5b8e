/* Measures what no collective can beat on this machine; prints it as one JSON object: seconds, and bytes per second.

usage: limits CPU NEAR FAR PROCESSES    (CPUs of three cores, which may be the same one)
  handover, handover_far  a cache line written on one core is read on another: one way
  copy_l1 .. copy_memory  bytes that one core copies where source and destination fit that level
  futex, futex_same_core  a process wakes another, which sleeps, and that one runs: on another core, on the same one
  yield                   sched_yield from one process to the other one on the same core
  read_fixed, read_copy   process_vm_readv: a call for a few bytes; bytes per second beyond that (0: not allowed)
  meet                    so many processes wait until all have come, yielding: on all CPUs, wherever the system puts them
How: two processes that share a mapping and play ping-pong; half a round is one way. The median of the trials counts. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  TRIALS = 9,
  SPIN_ROUNDS = 20000,
  SYSTEM_ROUNDS = 2000,
  LINE = 128,
  PAGE = 4096,
  FEW_BYTES = 8,
  MANY_BYTES = 1 << 20
};
enum { SHARE_OF_CACHE = 4, TIMES_LAST_CACHE = 4, USUAL_L1 = 32 << 10, USUAL_L2 = 512 << 10, USUAL_L3 = 32 << 20 };
static const double SECONDS_OF_TRIAL = 0.005;
enum { BYTES_BETWEEN_CLOCKS = 1 << 20, READS_BETWEEN_CLOCKS = 16 }; /* reading the clock may take a microsecond */

enum way { SPIN, YIELD, FUTEX };
enum side { PING, PONG };

/* Whose turn it is: each side writes its own word and reads the other's. */
struct table {
  _Alignas(LINE) _Atomic unsigned word[2][LINE / sizeof(unsigned)];
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
static double median(double* values) {
  qsort(values, TRIALS, sizeof *values, ascending);
  return values[TRIALS / 2];
}

static void* shared(size_t bytes) {
  void* place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) perror("limits: mmap"), exit(1);
  return place;
}

static void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) perror("limits: sched_setaffinity"), exit(1);
}

/* fork(), with a child that ends with this process, whatever it waits for. */
static pid_t start_child(void) {
  const pid_t child = fork();
  if (child < 0) perror("limits: fork"), exit(1);
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}

/* Waits until the word has the value. */
static void await(_Atomic unsigned* word, unsigned value, enum way way) {
  for (unsigned seen; (seen = atomic_load_explicit(word, memory_order_acquire)) != value;) {
    if (way == YIELD) sched_yield();
    if (way == FUTEX) syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
  }
}
static void show(_Atomic unsigned* word, unsigned value, enum way way) {
  atomic_store_explicit(word, value, memory_order_release);
  if (way == FUTEX) syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void play(struct table* table, enum side side, enum way way, unsigned first, unsigned rounds) {
  for (unsigned i = first; i < first + rounds; ++i) {
    if (side == PONG) await(table->word[PING], i, way);
    show(table->word[side], i, way);
    if (side == PING) await(table->word[PONG], i, way);
  }
}

/* Seconds of one way between two processes on these CPUs. */
static double ping_pong(int here, int there, enum way way) {
  struct table* const table = shared(sizeof *table);
  const unsigned rounds = way == SPIN ? SPIN_ROUNDS : SYSTEM_ROUNDS;
  double seconds[TRIALS];
  const pid_t other = start_child();
  if (other == 0) {
    stay_on(there);
    play(table, PONG, way, 1, (TRIALS + 1) * rounds);
    _exit(0);
  }
  stay_on(here);
  play(table, PING, way, 1, rounds); /* until both are awake */
  for (unsigned trial = 0; trial < TRIALS; ++trial) {
    const double begin = now();
    play(table, PING, way, 1 + (trial + 1) * rounds, rounds);
    seconds[trial] = (now() - begin) / rounds / 2;
  }
  waitpid(other, NULL, 0);
  munmap(table, sizeof *table);
  return median(seconds);
}

/* Comes, and waits for all others: between two looks there is nothing but the yield. */
static void meet_others(_Atomic unsigned* arrived, int processes, int self, unsigned first, unsigned rounds) {
  for (unsigned i = first; i < first + rounds; ++i) {
    atomic_store_explicit(&arrived[self], i, memory_order_release);
    for (int other = 0; other < processes; ++other)
      while ((int)(atomic_load_explicit(&arrived[other], memory_order_acquire) - i) < 0) sched_yield();
  }
}

/* Seconds until so many processes know of each other that all have come. */
static double meet(int processes) {
  _Atomic unsigned* const arrived = shared(processes * sizeof *arrived);
  for (int self = 1; self < processes; ++self)
    if (start_child() == 0) {
      meet_others(arrived, processes, self, 1, (TRIALS + 1) * SYSTEM_ROUNDS);
      _exit(0);
    }
  double seconds[TRIALS];
  meet_others(arrived, processes, 0, 1, SYSTEM_ROUNDS); /* until all are awake */
  for (unsigned trial = 0; trial < TRIALS; ++trial) {
    const double begin = now();
    meet_others(arrived, processes, 0, 1 + (trial + 1) * SYSTEM_ROUNDS, SYSTEM_ROUNDS);
    seconds[trial] = (now() - begin) / SYSTEM_ROUNDS;
  }
  while (wait(NULL) > 0) continue;
  munmap(arrived, processes * sizeof *arrived);
  return median(seconds);
}

/* Bytes per second of a copy of so many bytes. Where both ends lie in their pages matters by a factor of 10 on some
   processors (Zen 3: slowest when the destination is a little behind the source), so this is a place that suits them. */
static double copy(size_t bytes) {
  const size_t room = (bytes / PAGE + 2) * PAGE;
  char *const from = aligned_alloc(PAGE, room), *const page = aligned_alloc(PAGE, room),
              *const to = page + PAGE * 3 / 4;
  if (!from || !page) perror("limits: aligned_alloc"), exit(1);
  memset(from, 1, bytes);
  memset(to, 2, bytes);
  const long at_once = bytes < BYTES_BETWEEN_CLOCKS ? (long)(BYTES_BETWEEN_CLOCKS / bytes) : 1;
  double rates[TRIALS];
  for (int trial = 0; trial < TRIALS; ++trial) {
    long copies = 0;
    const double begin = now();
    double end;
    do {
      for (long i = 0; i < at_once; ++i) {
        memcpy(to, from, bytes);
        __asm__ volatile("" : : "r"(to) : "memory"); /* the copy is needed, for all the compiler knows */
      }
      copies += at_once;
    } while ((end = now()) - begin < SECONDS_OF_TRIAL);
    rates[trial] = copies * (double)bytes / (end - begin);
  }
  free(from);
  free(page);
  return median(rates);
}

/* Seconds of a read of so many bytes from a sleeping child; 0 where the system does not allow it. */
static double read_from_other(size_t bytes) {
  char *const buffer = malloc(bytes), *const remote = malloc(bytes);
  if (!buffer || !remote) perror("limits: malloc"), exit(1);
  memset(remote, 1, bytes);
  memset(buffer, 2, bytes);
  const pid_t other = start_child();
  if (other == 0) {
    memset(remote, 3, bytes); /* pages of its own */
    pause();
    _exit(0);
  }
  const struct iovec mine = {buffer, bytes}, its = {remote, bytes};
  double seconds[TRIALS];
  int allowed = 1;
  for (int trial = 0; trial < TRIALS && allowed; ++trial) {
    long reads = 0;
    const double begin = now();
    double end;
    do {
      for (int i = 0; i < READS_BETWEEN_CLOCKS; ++i)
        allowed &= process_vm_readv(other, &mine, 1, &its, 1, 0) == (ssize_t)bytes;
      reads += READS_BETWEEN_CLOCKS;
    } while ((end = now()) - begin < SECONDS_OF_TRIAL && allowed);
    seconds[trial] = (end - begin) / reads;
  }
  kill(other, SIGKILL);
  waitpid(other, NULL, 0);
  free(buffer);
  free(remote);
  return allowed ? median(seconds) : 0;
}

static size_t cache(int name, size_t usual) {
  const long size = sysconf(name);
  return size > 0 ? (size_t)size : usual;
}

int main(int argc, char** argv) {
  if (argc != 5) return fprintf(stderr, "usage: limits CPU NEAR FAR PROCESSES   (started by omnes)\n"), 2;
  const int cpu = atoi(argv[1]), near = atoi(argv[2]), far = atoi(argv[3]), processes = atoi(argv[4]);
  const size_t l3 = cache(_SC_LEVEL3_CACHE_SIZE, USUAL_L3);
  printf("{\"meet\": %.4e, ", meet(processes)); /* first: the rest stays on one core */
  printf("\"handover\": %.4e, ", ping_pong(cpu, near, cpu == near ? YIELD : SPIN));
  printf("\"handover_far\": %.4e, ", ping_pong(cpu, far, cpu == far ? YIELD : SPIN));
  printf("\"futex\": %.4e, ", ping_pong(cpu, near, FUTEX));
  printf("\"futex_same_core\": %.4e, ", ping_pong(cpu, cpu, FUTEX));
  printf("\"yield\": %.4e, ", ping_pong(cpu, cpu, YIELD));
  printf("\"copy_l1\": %.4e, ", copy(cache(_SC_LEVEL1_DCACHE_SIZE, USUAL_L1) / SHARE_OF_CACHE));
  printf("\"copy_l2\": %.4e, ", copy(cache(_SC_LEVEL2_CACHE_SIZE, USUAL_L2) / SHARE_OF_CACHE));
  printf("\"copy_l3\": %.4e, ", copy(l3 / SHARE_OF_CACHE));
  printf("\"copy_memory\": %.4e, ", copy(TIMES_LAST_CACHE * l3));
  const double fixed = read_from_other(FEW_BYTES), many = read_from_other(MANY_BYTES);
  printf("\"read_fixed\": %.4e, \"read_copy\": %.4e}\n", fixed, many > fixed ? MANY_BYTES / (many - fixed) : 0);
  return 0;
}
