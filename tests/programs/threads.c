// Several threads, each with its own communicator, in collectives at the same time; each rank creates them in another
// order.
#include <pthread.h>

#include "check.h"

enum { threads = 3, calls = 300 };

struct job {
  MPI_Comm comm;
  int number, wrong;
};

static void* work(void* argument) {
  struct job* job = argument;
  int rank, p;
  MPI_Comm_rank(job->comm, &rank);
  MPI_Comm_size(job->comm, &p);
  for (int i = 0; i < calls; ++i) {
    int mine = rank + i + job->number, sum = 0, wanted = 0, data = rank == i % p ? i : -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, job->comm);
    for (int r = 0; r < p; ++r) wanted += r + i + job->number;
    MPI_Bcast(&data, 1, MPI_INT, i % p, job->comm);
    job->wrong += sum != wanted || data != i;
    if (i % 100 == 50) {
      MPI_Comm twin;
      MPI_Comm_dup(job->comm, &twin);
      MPI_Barrier(twin);
      MPI_Comm_free(&twin);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) printf("no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 0;
  }
  struct job jobs[threads];
  pthread_t thread[threads];
  for (int t = 0; t < threads; ++t) {
    jobs[t] = (struct job){MPI_COMM_NULL, t, 0};
    MPI_Comm_dup(MPI_COMM_WORLD, &jobs[t].comm);
  }
  for (int t = 0; t < threads; ++t) pthread_create(&thread[t], NULL, work, &jobs[(t + rank) % threads]);
  for (int t = 0; t < threads; ++t) pthread_join(thread[t], NULL);
  for (int t = 0; t < threads; ++t) {
    if (jobs[t].wrong) fail("%d wrong results on communicator %d", jobs[t].wrong, t);
    MPI_Comm_free(&jobs[t].comm);
  }
  return finish();
}
