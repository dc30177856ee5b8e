// Threads as ranks (MPICH's MPIX_Threadcomm): the MPI serves their communicators; others go on as always.
#include <pthread.h>

#include "check.h"

enum { MAX_THREADS = 3 };  // threads of a process

static MPI_Comm threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void expect(int want, int got, const char* what) {
  if (want == got) return;
  pthread_mutex_lock(&lock);
  fail("%s: %d, not %d", what, got, want);
  pthread_mutex_unlock(&lock);
}

static void* be_ranks(void* none) {
  int rank, p;
  MPIX_Threadcomm_start(threads);
  MPI_Comm_rank(threads, &rank);
  MPI_Comm_size(threads, &p);
  for (int i = 0; i < 3; ++i) {
    int sum = -1, news = rank == 0 ? 17 + i : -1, all[64];
    MPI_Barrier(threads);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, threads);
    expect(p * (p - 1) / 2, sum, "allreduce");
    MPI_Bcast(&news, 1, MPI_INT, 0, threads);
    expect(17 + i, news, "bcast");
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, threads);
    for (int r = 0; r < p; ++r) expect(r, all[r], "allgather");
  }
  MPIX_Threadcomm_finish(threads);
  return none;
}

int main(int argc, char** argv) {
  int level, rank, sum;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int count = 1; count <= MAX_THREADS; ++count) {
    pthread_t others[MAX_THREADS];
    MPIX_Threadcomm_init(MPI_COMM_WORLD, count, &threads);
    for (int i = 1; i < count; ++i) pthread_create(&others[i], NULL, be_ranks, NULL);
    be_ranks(NULL);
    for (int i = 1; i < count; ++i) pthread_join(others[i], NULL);
    MPIX_Threadcomm_free(&threads);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  return finish();
}
