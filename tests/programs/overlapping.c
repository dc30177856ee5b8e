// Contributions that lie among what is received, where another rank's part goes, and what a scatter's root receives likewise: with calls
// before that have their buffers apart, and with other counts. Prints OK if all get what they would get from buffers apart.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 200000 };
static int rank, p, wrong = 0;
static int *parts, *apart, *all, counts[16], displs[16];

static void expect(int condition, const char* what, int n, int overlaps) {
  if (!condition && !wrong++) printf("rank %d: %s of %d, overlapping %d\n", rank, what, n, overlaps);
}

/// Where this rank's own part lies: apart, or in the next rank's place.
static int* own(int n, int overlaps) { return overlaps ? parts + (rank + 1) % p * n : apart; }
static int* contribution(int n, int overlaps) {
  int* const at = own(n, overlaps);
  for (int i = 0; i < n; ++i) at[i] = 1 + rank;
  return at;
}
static int gathered(int n) {
  for (int r = 0; r < p; ++r)
    for (int i = 0; i < n; ++i)
      if (parts[r * n + i] != 1 + r) return 0;
  return 1;
}
static int scattered(const int* at, int n) {
  for (int i = 0; i < n; ++i)
    if (at[i] != 1 + rank) return 0;
  return 1;
}
static void fill(int n) {
  for (int r = 0; r < p; ++r)
    for (int i = 0; i < n; ++i) parts[r * n + i] = 1 + r;
}

static void calls(int n, int overlaps) {
  for (int r = 0; r < p; ++r) counts[r] = n, displs[r] = r * n;
  for (int root = 0; root < p; ++root) {
    MPI_Gather(contribution(n, overlaps), n, MPI_INT, parts, n, MPI_INT, root, MPI_COMM_WORLD);
    expect(rank != root || gathered(n), "gather", n, overlaps);
    MPI_Gatherv(contribution(n, overlaps), n, MPI_INT, parts, counts, displs, MPI_INT, root, MPI_COMM_WORLD);
    expect(rank != root || gathered(n), "gatherv", n, overlaps);
    fill(n);
    MPI_Scatter(parts, n, MPI_INT, own(n, overlaps), n, MPI_INT, root, MPI_COMM_WORLD);
    expect(scattered(own(n, overlaps), n), "scatter", n, overlaps);
    fill(n);
    MPI_Scatterv(parts, counts, displs, MPI_INT, own(n, overlaps), n, MPI_INT, root, MPI_COMM_WORLD);
    expect(scattered(own(n, overlaps), n), "scatterv", n, overlaps);
  }
  MPI_Allgather(contribution(n, overlaps), n, MPI_INT, parts, n, MPI_INT, MPI_COMM_WORLD);
  expect(gathered(n), "allgather", n, overlaps);
  MPI_Allgatherv(contribution(n, overlaps), n, MPI_INT, parts, counts, displs, MPI_INT, MPI_COMM_WORLD);
  expect(gathered(n), "allgatherv", n, overlaps);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  parts = malloc(sizeof(int) * most * p);
  apart = malloc(sizeof(int) * most);
  const int sizes[] = {most, 1, 2, 1000, most - 1};
  for (int i = 0; i < 5; ++i) calls(sizes[i], 1);  // unlike any before
  for (int i = 0; i < 5; ++i)
    for (int k = 0; k < 3; ++k) calls(sizes[i], k == 2);
  for (int i = 0; i < 5; ++i) calls(sizes[i], 0), calls(sizes[4 - i], 1);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && wrong == 0) printf("OK\n");
  free(parts);
  free(apart);
  MPI_Finalize();
  return 0;
}
