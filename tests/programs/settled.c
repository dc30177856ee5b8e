// A program that uses the same two buffers of 1 MiB in call after call: once they are adopted, calls cost no page faults.
// As argument 1 where buffers have to come into a heap, 0 where they must not.
#include <sys/resource.h>

#include "check.h"
#include "mapped.h"

enum { count = 1 << 17, calls = 4, rounds = 100 };  // doubles; in a round; at a time

static void one_round(double* send, double* recv, int size) {
  MPI_Reduce(send, recv, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Allreduce(send, recv, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(send, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Allgather(send, count / size, MPI_DOUBLE, recv, count / size, MPI_DOUBLE, MPI_COMM_WORLD);
}

static long faults(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

int main(int argc, char** argv) {
  int size, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int wanted = argc > 1 && atoi(argv[1]);
  double* const send = calloc(count, sizeof *send);
  double* const recv = calloc(count, sizeof *recv);
  const double* const sent = send + count / 2;
  const double* const received = recv + (rank > 0 ? count / 8 : count / 8 * 7);  // from another rank
  int found = 0, all = 0;
  for (int batch = 0; batch < (wanted ? 50 : 1) && all < 2 * wanted; ++batch) {
    for (int round = 0; round < rounds; ++round) one_round(send, recv, size);
    found = is_mapped(sent) + is_mapped(received);
    MPI_Allreduce(&found, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  if (found != 2 * wanted) fail("of two buffers %d are mapped by peers", found);
  for (int round = 0; round < rounds; ++round) one_round(send, recv, size);  // peers see the last ones, too
  const long before = faults();
  for (int round = 0; round < rounds; ++round) one_round(send, recv, size);
  const long later = faults() - before;
  if (later >= calls * rounds / 4) fail("%ld page faults in %d calls", later, calls * rounds);
  if (is_mapped(sent) + is_mapped(received) != found) fail("a buffer was given back");
  free(send);
  free(recv);
  return finish();
}
