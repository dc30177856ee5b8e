// A neighborhood collective: each rank of a periodic line sends to its left and right neighbor, and to nobody else.
//
//   mpicc -O2 neighbors.c -o neighbors
//   omnes run -n 4 ./neighbors
//
// prints
//
//   rank 0: 30 from the left, 11 from the right
//   rank 1: 0 from the left, 21 from the right
//   rank 2: 10 from the left, 31 from the right
//   rank 3: 20 from the left, 1 from the right
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { left, right };

int main(int argc, char** argv) {
  int rank, size, sent[2], received[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  // The topology says who is next to whom. MPI orders the neighbors of each dimension: the lower one, then the upper.
  MPI_Comm line;
  const int periodic = 1, reorder = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, reorder, &line);
  MPI_Comm_rank(line, &rank);

  sent[left] = rank * 10 + 1;
  sent[right] = rank * 10;
  MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, line);

  // In the order of the ranks: rank 0 prints for all.
  int (*all)[2] = malloc(size * sizeof(*all));
  MPI_Gather(received, 2, MPI_INT, all, 2, MPI_INT, 0, line);
  for (int r = 0; rank == 0 && r < size; ++r)
    printf("rank %d: %d from the left, %d from the right\n", r, all[r][left], all[r][right]);
  free(all);
  MPI_Comm_free(&line);
  MPI_Finalize();
  return 0;
}
