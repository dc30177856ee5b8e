// A thread with a stack as small as a system lets it be, and one that makes collective calls on a small one.
#include "check.h"

#include <pthread.h>

enum { SMALLEST = 16384, SMALL = 65536, MANY = 8192 };

static void* nothing(void* unused) { return unused; }

static void* collectives(void* ranks) {
  const int p = *(const int*)ranks;
  double *own = calloc(MANY, sizeof *own), *all = calloc(MANY, sizeof *all);
  for (int i = 0; i < MANY; ++i) own[i] = i;
  MPI_Allreduce(own, all, MANY, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (all[MANY - 1] != (double)p * (MANY - 1)) fail("allreduce: %g", all[MANY - 1]);
  MPI_Bcast(all, MANY, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  free(own);
  free(all);
  return NULL;
}

static void run(size_t stack, void* (*what)(void*), void* with) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  int code = pthread_attr_setstacksize(&attributes, stack);
  if (code == 0) code = pthread_create(&thread, &attributes, what, with);
  if (code != 0) {
    fail("a thread with a stack of %zu bytes: %s", stack, strerror(code));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

int main(int argc, char** argv) {
  int provided, p;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  run(SMALLEST, nothing, NULL);
  for (int i = 0; i < 3; ++i) run(SMALL, collectives, &p);
  return finish();
}
