// Two ways to choose the algorithm oneself: a variable for the whole job, an info key for one communicator.
//
//   mpicc -O2 force_algorithm.c -o force_algorithm
//   OMNES_ALLREDUCE=recursive_doubling omnes run -n 4 --stats ./force_algorithm
//
// prints
//
//   ...
//   ... allreduce ... 8 ... recursive_doubling ...
//   ... allreduce ... 1K ... ring ...
//
// The key goes before the variable; on communicators without it, the variable holds. `omnes list allreduce` shows what
// there is to choose from. A name that does not exist is an error that lists the valid ones.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  double mine[128], sums[128];
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 128; ++i) mine[i] = i;

  // By OMNES_ALLREDUCE, if it is set; else as omnes chooses.
  MPI_Allreduce(mine, sums, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

  // On this communicator by the key, which all its ranks have to set alike. An MPI that knows no such key ignores it.
  MPI_Comm own;
  MPI_Info info;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Info_create(&info);
  MPI_Info_set(info, "omnes_allreduce", "ring");
  MPI_Comm_set_info(own, info);
  MPI_Info_free(&info);
  MPI_Allreduce(mine, sums, 128, MPI_DOUBLE, MPI_SUM, own);

  MPI_Comm_free(&own);
  MPI_Finalize();
  return 0;
}
