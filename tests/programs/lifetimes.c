// Communicators are made, used in all forms and freed many times over: neither memory nor descriptors nor mappings grow.
#include <dirent.h>

#include "check.h"

struct usage {
  long kibibytes, descriptors, mappings;
};

// Without the three that look: its own descriptor of the folder, and the entries "." and "..".
static long descriptors(void) {
  long n = -3;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder)) ++n;
  closedir(folder);
  return n;
}

static struct usage now(void) {
  struct usage u = {0, descriptors(), 0};
  char line[4096];
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &u.kibibytes);
  fclose(status);
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) ++u.mappings;
  fclose(maps);
  return u;
}

static void use(MPI_Comm comm, int number) {
  int rank, p, sum = 0, more = 0, news;
  MPI_Request requests[2];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  news = rank == number % p ? number : -1;
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Ibcast(&news, 1, MPI_INT, number % p, comm, &requests[1]);
  MPI_Allreduce(&rank, &more, 1, MPI_INT, MPI_SUM, comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#if HAS_PERSISTENT
  MPI_Request request;
  int third = 0;
  MPI_Allreduce_init(&rank, &third, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  if (third != sum) fail("communicator %d: %d, not %d", number, third, sum);
#endif
  if (sum != p * (p - 1) / 2 || more != sum || news != number)
    fail("communicator %d: %d, %d, %d", number, sum, more, news);
}

static void cycle(int number) {
  MPI_Comm comm;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (number % 2)
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  else
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
  use(comm, number);
  MPI_Comm_free(&comm);
}

// Usage: lifetimes [COUNT] (default 10000)
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) : 10000;
  // Pools and caches fill first.
  const int warm = count / 2 < 500 ? count / 2 : 500;
  for (int i = 0; i < warm; ++i) cycle(i);
  const struct usage before = now();
  for (int i = warm; i < count; ++i) cycle(i);
  const struct usage after = now();
  const long grown = after.kibibytes - before.kibibytes;
  // A page per communicator would be 4 KiB; allocators and queues of the host take some hundreds in all.
  if (grown > 1024 + (count - warm) / 4) fail("%ld KiB more after %d communicators", grown, count - warm);
  if (after.descriptors > before.descriptors) fail("%ld descriptors more", after.descriptors - before.descriptors);
  if (after.mappings > before.mappings + 8) fail("%ld mappings more", after.mappings - before.mappings);
  return finish();
}
