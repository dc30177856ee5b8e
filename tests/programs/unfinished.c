// Operations that some ranks begin and others never do: MPI_Finalize ends all the same. What all have begun is done by then, or in functions
// that delete attributes of MPI_COMM_SELF.
#include "check.h"

enum { length = 300000 };
static double numbers[length], lost[length];
static MPI_Request all_begin;

static int finish_it(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Wait(&all_begin, MPI_STATUS_IGNORE);
  for (int i = 0; i < length; ++i)
    if (numbers[i] != i + 1) fail("number %d: %g", i, numbers[i]);
  if (failures > 0) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) printf("OK\n");
  fflush(stdout);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int rank, key;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finish_it, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_free_keyval(&key);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < length; ++i) numbers[i] = rank == 0 ? i + 1 : -1;
  MPI_Comm met, unmet;
  MPI_Comm_dup(MPI_COMM_WORLD, &met);
  MPI_Comm_dup(MPI_COMM_WORLD, &unmet);
  MPI_Barrier(met);
  MPI_Request request;
#if HAS_PERSISTENT
  int sum, one = 1;
  MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, met, MPI_INFO_NULL, &request);
  if (rank == 0) MPI_Start(&request);
#endif
  MPI_Ibcast(numbers, length, MPI_DOUBLE, 0, MPI_COMM_WORLD, &all_begin);
  if (rank == 0) {
    MPI_Ibarrier(met, &request);
    MPI_Ibcast(lost, length, MPI_DOUBLE, 0, met, &request);
  }
  if (rank == 1) MPI_Ibarrier(unmet, &request);
  MPI_Finalize();
  return 0;
}
