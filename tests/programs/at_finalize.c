// What libraries do as MPI_Finalize deletes attributes of MPI_COMM_SELF: collectives in all forms, and communicators.
#include "check.h"

static int clean_up(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  int rank, ranks, sum = 0;
  const int one = 1;
  MPI_Comm dup;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != ranks) fail("sum %d", sum);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
  if (sum != ranks) fail("on a new communicator: sum %d", sum);
  MPI_Comm_free(&dup);
  if (rank == 0 && failures == 0) printf("OK\n");
  fflush(stdout);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int key;
  MPI_Init(&argc, &argv);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, clean_up, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_free_keyval(&key);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return failures > 0;
}
