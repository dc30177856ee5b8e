// Ranks that were started later, perhaps without omnes, share a communicator with the first ones.
#include "check.h"

// Usage: spawned (starts one more copy of itself)
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, inter, all;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  else
    inter = parent;
  MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &all);
  int p, sum = 0, one = 1;
  MPI_Comm_size(all, &p);
  for (int i = 0; i < 10; ++i) {
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    if (sum != p) fail("sum %d, not %d", sum, p);
  }
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
  if (parent == MPI_COMM_NULL) return finish();
  MPI_Finalize();
  return failures > 0;
}
