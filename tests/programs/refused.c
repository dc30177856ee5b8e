// Memory that other processes could read by system calls when the program began, and cannot any more. Argument: what and why.
//   process   all of it: the ranks have become another user's, or, of a user who cannot do that, are not dumpable any more
//   source    of what is sent, pages that a handler of faults has to make readable first, as those of write barriers
//   target    of what is received, pages that a handler has to make writable first, as those of checkpoints
//   secret    of what is sent, pages that only the program can read, where the system has such (memfd_secret)
// Results are those of ordinary memory, and no call fails.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

enum { ints = 300007, bytes = 4 * ints, pages = 4096 };

static int rank, size;
static char* areas[2];  // what is sent, what is received; each has room for a part of each rank
static size_t room;
static int protections[2] = {PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE};

static void let_in(int signal, siginfo_t* fault, void* context) {
  (void)signal, (void)context;
  for (int i = 0; i < 2; ++i)
    if ((uintptr_t)fault->si_addr - (uintptr_t)areas[i] < room) {
      mprotect((void*)((uintptr_t)fault->si_addr & ~(uintptr_t)(pages - 1)), pages, PROT_READ | PROT_WRITE);
      return;
    }
  _exit(99);
}

static char* area(int fd) {
  char* const found =
      mmap(NULL, room, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
  return found == MAP_FAILED ? NULL : found;
}

static int value(int round, int from, int to, int i) { return round * 1000003 + from * 10007 + to * 101 + i; }

// What this rank sends: a part for each rank, or one for all, of which `to` is 0.
static void fill(int round, int parts) {
  for (int i = 0; i < 2; ++i) mprotect(areas[i], room, PROT_READ | PROT_WRITE);
  for (int to = 0; to < parts; ++to)
    for (int i = 0; i < ints; ++i) ((int*)areas[0])[to * ints + i] = value(round, rank, to, i);
  memset(areas[1], 0xff, room);
  for (int i = 0; i < 2; ++i) mprotect(areas[i], room, protections[i]);
}

static void look(const char* call, int round, int part, int from, int to) {
  const int* const got = (const int*)areas[1] + part * ints;
  for (int i = 0; i < ints; ++i)
    if (got[i] != value(round, from, to, i)) {
      fail("%s %d: part %d, [%d] is %d", call, round, part, i, got[i]);
      return;
    }
}

static void call(const char* name, int code) {
  if (code != MPI_SUCCESS) fail("%s: error %d", name, code);
}

static void calls(int round, MPI_Comm comm) {
  int* const out = (int*)areas[0];
  int* const in = (int*)areas[1];
  const int root = round % size;
  fill(round, 1);
  char* const data = rank == root ? areas[0] : areas[1];
  call("bcast", MPI_Bcast(data, ints, MPI_INT, root, comm));
  if (rank != root) look("bcast", round, 0, root, 0);
  fill(round, size);
  call("scatter", MPI_Scatter(out, ints, MPI_INT, in, ints, MPI_INT, root, comm));
  look("scatter", round, 0, root, rank);
  fill(round, 1);
  call("gather", MPI_Gather(out, ints, MPI_INT, in, ints, MPI_INT, root, comm));
  for (int from = 0; from < size && rank == root; ++from) look("gather", round, from, from, 0);
  fill(round, size);
  call("alltoall", MPI_Alltoall(out, ints, MPI_INT, in, ints, MPI_INT, comm));
  for (int from = 0; from < size; ++from) look("alltoall", round, from, from, rank);
  fill(round, 1);
  call("allreduce", MPI_Allreduce(out, in, ints, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < ints; ++i) {
    int sum = 0;
    for (int from = 0; from < size; ++from) sum += value(round, from, 0, i);
    if (in[i] != sum) {
      fail("allreduce %d: [%d] is %d", round, i, in[i]);
      break;
    }
  }
  MPI_Request request;
  fill(round, 1);
  call("iallgather", MPI_Iallgather(out, ints, MPI_INT, in, ints, MPI_INT, comm, &request));
  call("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int from = 0; from < size; ++from) look("iallgather", round, from, from, 0);
}

static void refuse(const char* what) {
  if (strcmp(what, "process") == 0) {
    if ((geteuid() != 0 || setgid(65534) != 0 || setuid(65534) != 0) && prctl(PR_SET_DUMPABLE, 0) != 0)
      fail("prctl: %s", strerror(errno));
  } else if (strcmp(what, "source") == 0) {
    protections[0] = PROT_NONE;
  } else if (strcmp(what, "target") == 0) {
    protections[1] = PROT_READ;
  } else if (strcmp(what, "secret") == 0) {
    const int fd = (int)syscall(SYS_memfd_secret, 0);
    char* const found = fd >= 0 && ftruncate(fd, (off_t)room) == 0 ? area(fd) : NULL;
    if (found != NULL) areas[0] = found;
  } else {
    fail("refuse what?");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  room = ((size_t)size * bytes + pages - 1) / pages * pages;
  areas[0] = area(-1);
  areas[1] = area(-1);
  struct sigaction action = {0};
  action.sa_sigaction = let_in;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  calls(0, MPI_COMM_WORLD);
  refuse(argc > 1 ? argv[1] : "");
  for (int round = 1; round < 4; ++round) calls(round, MPI_COMM_WORLD);
  MPI_Comm later;
  MPI_Comm_dup(MPI_COMM_WORLD, &later);
  for (int round = 4; round < 6; ++round) calls(round, later);
  MPI_Comm_free(&later);
  return finish();
}
