// Collectives with known results, and one rank that meets a fault in their midst: what scripts/faults runs.
//
// Usage: faults KIND MOMENT [--rank R] [--after MICROSECONDS] [--refuse all|copies]. KIND: none, or what befalls rank R (default: the
// last). MOMENT: at start, at the first collective, while some are in flight, once buffers come again and again (adopt: signals
// while they are adopted, the rest when they are), at finalize. A signal comes from a child process, so long after that moment. --refuse: the kernel refuses
// what ranks share memory by, or only to read and write that of others.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// Integers, collectives of each kind, calls with the same buffers, microseconds.
enum { LONG = 1 << 18, ROUNDS = 40, AGAIN = 800, STOPPED = 50000 };

extern char** environ;

static const char *kind, *moment;
static int after = 0, rank = -1, size, victim = -1, wake[2];

static int of_launcher(const char* open_mpi, const char* mpich) {
  const char* text = getenv(open_mpi) ? getenv(open_mpi) : getenv(mpich);
  return text ? atoi(text) : -1;
}

static int is(const char* of_kind) { return strcmp(kind, of_kind) == 0; }

// Forked before MPI_Init: waits for the moment, then sends its parent the signal. Ends when the parent does.
static void start_sender(void) {
  const pid_t parent = getpid();
  if (pipe(wake)) exit(1);
  if (fork()) {
    close(wake[0]);
    fcntl(wake[1], F_SETFD, FD_CLOEXEC);
    return;
  }
  close(wake[1]);
  char byte;
  if (read(wake[0], &byte, 1) == 1) {
    usleep(after);
    if (getppid() == parent) kill(parent, is("kill") ? SIGKILL : SIGSTOP);
    usleep(STOPPED);
    if (is("stop") && getppid() == parent) kill(parent, SIGCONT);
  }
  _exit(0);
}

static void start_programs(void) {
  char* words[] = {"true", NULL};
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    execvp(words[0], words);
    _exit(127);
  }
  if (waitpid(child, &status, 0) != child || status) fail("fork and exec: %d", status);
  if ((status = system("exit 7")) != 7 << 8) fail("system: %d", status);
  if (posix_spawnp(&child, words[0], NULL, NULL, words, environ) || waitpid(child, &status, 0) != child || status)
    fail("posix_spawn: %d", status);
}

static void reach(const char* here) {
  if (rank != victim || strcmp(moment, here)) return;
  if (is("kill") || is("stop")) {
    if (write(wake[1], "", 1) != 1) fail("the sender of signals has ended");
  } else if (is("abort")) {
    abort();
  } else if (is("mpi_abort")) {
    MPI_Abort(MPI_COMM_WORLD, 5);
  } else if (is("exit")) {
    exit(3);
  } else if (is("spawn")) {
    start_programs();
  }
}

// process_vm_readv, and memfd_create with all, fail with EPERM, as under a container's filter or Yama's ptrace_scope.
static void refuse(int all) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, all ? SYS_memfd_create : SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
    perror("seccomp");
    exit(1);
  }
}

// Blocks of n elements: block b holds first + b * step.
static void expect(const char* what, const int* values, int blocks, int n, int first, int step) {
  for (int i = 0; i < blocks * n; ++i)
    if (values[i] != first + i / n * step) {
      fail("%s: element %d is %d", what, i, values[i]);
      return;
    }
}

static void fill(int* values, int n, int value) {
  for (int i = 0; i < n; ++i) values[i] = value;
}

int main(int argc, char** argv) {
  kind = argc > 1 ? argv[1] : "none";
  moment = argc > 2 ? argv[2] : "";
  for (int i = 3; i < argc; ++i) {
    if (!strcmp(argv[i], "--refuse") && i + 1 < argc) refuse(!strcmp(argv[i + 1], "all"));
    if (!strcmp(argv[i], "--rank") && i + 1 < argc) victim = atoi(argv[i + 1]);
    if (!strcmp(argv[i], "--after") && i + 1 < argc) after = atoi(argv[i + 1]);
  }
  rank = of_launcher("OMPI_COMM_WORLD_RANK", "PMI_RANK");
  size = of_launcher("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
  if (victim < 0) victim = size - 1;
  const int signalled = rank == victim && (is("kill") || is("stop"));
  if (signalled) start_sender();
  if (is("kill") || is("stop") || is("abort")) reach("start");
  MPI_Init(&argc, &argv);
  if (is("spawn") || is("exit") || is("mpi_abort")) reach("start");

  const int n = LONG * size, sum = size * (size - 1) / 2;
  int *from = malloc(n * sizeof *from), *to = malloc(n * sizeof *to);
  int *all = malloc(n * sizeof *all), *sums = malloc(LONG * sizeof *sums);
  fill(from, n, rank);
  reach("first");
  for (int round = 0; round < ROUNDS; ++round) {
    const int length = round % 4 ? 8 : LONG;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Iallreduce(from, sums, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ialltoall(from, length, MPI_INT, to, length, MPI_INT, MPI_COMM_WORLD, &requests[1]);
    if (round == ROUNDS / 4) reach("flight");
    MPI_Allgather(from, length, MPI_INT, all, length, MPI_INT, MPI_COMM_WORLD);
    expect("allgather", all, size, length, 0, 1);
    MPI_Waitall(2, requests, statuses);
    expect("iallreduce", sums, 1, length, sum, 0);
    expect("ialltoall", to, size, length, 0, 1);
    if (rank == 0) fill(all, length, round);
    MPI_Bcast(all, length, MPI_INT, 0, MPI_COMM_WORLD);
    expect("bcast", all, 1, length, round, 0);
  }
  for (int again = 0; again < AGAIN; ++again) {
    if (again == (signalled ? 0 : AGAIN / 2)) reach("adopt");
    MPI_Allreduce(from, sums, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("allreduce", sums, 1, LONG, sum, 0);
  }
  int failed;
  MPI_Allreduce(&failures, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && !failed) puts("OK");
  reach("finalize");
  MPI_Finalize();
  if (signalled) {  // at the latest now
    close(wake[1]);
    wait(NULL);
  }
  return failures > 0;
}
