// A program that does to adopted buffers what few programs do to memory: discards it in the newer ways, forks without handlers, has
// children not see it. All means what it means on the stock MPI.
// As first argument 1 where buffers have to come into a heap, 0 where they must not.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "mapped.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

enum { bytes = 256 << 10 };

static int rank, size, wanted;

static char* new_buffer(void) { return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static int holds(const char* buffer, size_t count, int value) {
  for (size_t i = 0; i < count; ++i)
    if (buffer[i] != value) return 0;
  return 1;
}

/// Until all ranks have it in a heap, or for a while; whether it is. All of it is 5 then.
static int come_back(char* buffer) {
  int found = 0, all = 0;
  for (int batch = 0; batch < (wanted ? 20 : 1) && !all; ++batch) {
    for (int round = 0; round < 100; ++round) MPI_Bcast(buffer, bytes, MPI_BYTE, round % size, MPI_COMM_WORLD);
    found = is_mapped(buffer + bytes / 2);
    MPI_Allreduce(&found, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  memset(buffer, 5, bytes);
  return found;
}

static void adopt(char* buffer) {
  if (come_back(buffer) != wanted) fail("a buffer is %sin a heap", wanted ? "not " : "");
}

static int in_child(int (*wrong)(const char*), const char* buffer) {
  const pid_t child = fork();
  if (child == 0) _exit(wrong(buffer));
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

static int has_data(const char* buffer) { return !holds(buffer, bytes, 0); }

static int has_memory(const char* buffer) {
  unsigned char there;
  return mincore((void*)buffer, 1, &there) == 0 || errno != ENOMEM;
}

static void discarded(char* buffer) {
  adopt(buffer);
  if (madvise(buffer, bytes / 2, MADV_DONTNEED_LOCKED) == 0 && !holds(buffer, bytes / 2, 0))
    fail("data after MADV_DONTNEED_LOCKED");
  if (!holds(buffer + bytes / 2, bytes / 2, 5)) fail("other data beside MADV_DONTNEED_LOCKED");
  adopt(buffer);
  if (madvise(buffer, bytes / 2, MADV_GUARD_INSTALL) == 0) {
    madvise(buffer, bytes / 2, MADV_GUARD_REMOVE);
    if (!holds(buffer, bytes / 2, 0)) fail("data after MADV_GUARD_INSTALL");
  }
}

static void doubled(char* buffer) {
  adopt(buffer);
  if (mremap(buffer, 0, bytes, MREMAP_MAYMOVE) != MAP_FAILED) fail("private memory is mapped twice");
  if (!holds(buffer, bytes, 5)) fail("other data after mremap");
}

static void unmapped(void) {
  char* const buffer = new_buffer();
  adopt(buffer);
  const long before = heap_bytes();
  munmap(buffer, bytes);
  if (wanted && before - heap_bytes() < bytes) fail("unmapped memory is kept");
}

static int written[2];

// Once its parent has written.
static int writes(void* buffer) {
  char one;
  if (read(written[0], &one, 1) != 1) return 1;
  if (!holds(buffer, bytes, 5)) return 2;
  memset(buffer, 7, bytes);
  return 0;
}

static void has_forked(pid_t child, char* buffer, const char* how) {
  if (child < 0) return;  // no such function below
  memset(buffer, 6, bytes);
  if (write(written[1], "", 1) != 1) fail("no pipe");
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fail("after %s: a child ended with %d", how, status);
  if (!holds(buffer, bytes, 6)) fail("after %s: what a child has written", how);
}

static void forked_without_handlers(char* buffer) {
  static char stack[64 << 10] __attribute__((aligned(64)));
  pid_t (*const fork_alone)(void) = (pid_t (*)(void))dlsym(RTLD_DEFAULT, "_Fork");
  if (fork_alone == NULL || pipe(written) != 0) return;
  adopt(buffer);
  const pid_t child = fork_alone();
  if (child == 0) _exit(writes(buffer));
  has_forked(child, buffer, "_Fork");
  adopt(buffer);
  has_forked(clone(writes, stack + sizeof stack, SIGCHLD, buffer), buffer, "clone");
}

static void not_for_children(char* adopted) {
  char *const wiped = new_buffer(), *const kept = new_buffer();
  adopt(adopted);
  if (madvise(adopted, bytes, MADV_WIPEONFORK) != 0) fail("MADV_WIPEONFORK: %s", strerror(errno));
  if (in_child(has_data, adopted) != 0) fail("a child has what was to be wiped");
  madvise(wiped, bytes, MADV_WIPEONFORK);
  come_back(wiped);
  if (in_child(has_data, wiped) != 0) fail("a child has what was to be wiped before it came back");
  madvise(kept, bytes, MADV_DONTFORK);
  come_back(kept);
  if (in_child(has_memory, kept) != 0) fail("a child has what was not for children");
  if (!holds(adopted, bytes, 5) || !holds(wiped, bytes, 5) || !holds(kept, bytes, 5)) fail("data after forks");
}

// The key of a piece that was not in a heap before stays its key: argument "keys", as nothing is adopted afterwards.
static void protected_by_keys(void) {
  const int key = pkey_alloc(0, 0);
  if (key < 0) return;  // not on this processor
  char* const buffer = new_buffer();
  pkey_mprotect(buffer, bytes, PROT_READ | PROT_WRITE, key);
  if (come_back(buffer)) fail("a buffer with a key is in a heap");
  pkey_free(key);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  wanted = argc > 1 && atoi(argv[1]);
  if (argc > 2) {
    protected_by_keys();
    return finish();
  }
  char* const buffer = new_buffer();
  discarded(buffer);
  doubled(buffer);
  unmapped();
  forked_without_handlers(buffer);
  not_for_children(buffer);
  return finish();
}
