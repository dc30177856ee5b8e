// Communicators come and go: states go with them, handles that come back mean the new communicator, and nothing piles
// up.
#include <dirent.h>
#include <sys/types.h>

#include "check.h"

static int entries(const char* folder) {
  DIR* dir = opendir(folder);
  int n = 0;
  while (readdir(dir)) ++n;
  closedir(dir);
  return n;
}

static long resident_pages(void) {
  long size = 0, resident = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (fscanf(f, "%ld %ld", &size, &resident) != 2) fail("statm");
  fclose(f);
  return size;
}

// Checks that the communicator is the one that it should be.
static void use(MPI_Comm comm, int expected) {
  int rank, p, sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (p != expected || sum != p * (p - 1) / 2) fail("%d ranks, sum of ranks %d", p, sum);
}

static void cycles(int n) {
  int rank, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  int descriptors = 0;
  long pages = 0;
  for (int i = 0; i < n; ++i) {
    if (i == n / 2) {
      descriptors = entries("/proc/self/fd");
      pages = resident_pages();
    }
    MPI_Comm comm;
    if (i % 2) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      use(comm, p);
    } else {
      const int color = rank % 2;
      MPI_Comm_split(MPI_COMM_WORLD, color, 0, &comm);
      use(comm, (p + !color) / 2);
    }
    if (i % 3)
      MPI_Comm_free(&comm);
    else
      MPI_Comm_disconnect(&comm);
  }
  if (entries("/proc/self/fd") > descriptors) fail("%d descriptors more", entries("/proc/self/fd") - descriptors);
  const long grown = (resident_pages() - pages) * 4;
  if (grown > 8 * 1024) fail("%ld KiB more after %d communicators", grown, n - n / 2);
}

static void intercommunicator(void) {
  int rank, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  if (p < 2) return;
  MPI_Comm half, inter;
  const int upper = rank >= p / 2;
  MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : p / 2, 5, &inter);
  int local, remote, sum = 0;
  MPI_Comm_size(half, &local);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Allreduce(&local, &sum, 1, MPI_INT, MPI_SUM, inter);
  if (sum != remote * remote) fail("sum over the other group is %d, not %d", sum, remote * remote);
  MPI_Barrier(inter);
  int root = upper ? 0 : (rank == 0 ? MPI_ROOT : MPI_PROC_NULL), data = rank == 0 ? 42 : 0;
  MPI_Bcast(&data, 1, MPI_INT, root, inter);
  if (upper && data != 42) fail("bcast between groups brought %d", data);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static int farewell(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key;
  (void)value;
  (void)extra;
  return MPI_Barrier(comm);
}

// What deletes an attribute may use the communicator that is freed; the next one may get its handle.
static void attributes(void) {
  int key, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, farewell, &key, NULL);
  for (int i = 0; i < 20; ++i) {
    MPI_Comm all, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Comm_set_attr(all, key, NULL);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    int size, one = 1, sum = 0;
    MPI_Comm_size(half, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    if (sum != size) fail("a sum over %d ranks is %d", size, sum);
    MPI_Comm_free(&half);
  }
  MPI_Comm_free_keyval(&key);
}

// A user's attribute on MPI_COMM_SELF runs in MPI_Finalize, where collectives still work.
static int last_words(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm;
  (void)key;
  (void)value;
  (void)extra;
  return MPI_Barrier(MPI_COMM_WORLD);
}

// Usage: lifecycle [CYCLES] (default 100)
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, key, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  // Ranks may have used omnes or not when they set it.
  if (rank == 0) MPI_Barrier(MPI_COMM_SELF);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_words, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  use(MPI_COMM_WORLD, p);
  use(MPI_COMM_SELF, 1);
  cycles(argc > 1 ? atoi(argv[1]) : 100);
  attributes();
  intercommunicator();
  use(MPI_COMM_WORLD, p);
  return finish();
}
