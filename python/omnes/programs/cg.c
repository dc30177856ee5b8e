/* Solves the Poisson equation on a square grid by conjugate gradients: a small, ordinary MPI program that knows nothing of omnes.

usage: cg [GRID [SOLVES]]
How: rank r owns a strip of grid rows. Each iteration exchanges the rows at the borders with the neighbours and needs two sums over all
ranks (MPI_Allreduce of one double): at many ranks or small grids these sums are what the time goes to. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks, grid, rows;

static double dot(const double* a, const double* b) {
  double mine = 0, sum;
  for (int i = 0; i < rows * grid; ++i) mine += a[i] * b[i];
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* out <- A in, the five-point stencil. `in` has a ghost row above and below. */
static void apply(double* in, double* out) {
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(in + grid, grid, MPI_DOUBLE, up, 0, in + (rows + 1) * grid, grid, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(in + rows * grid, grid, MPI_DOUBLE, down, 1, in, grid, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < grid; ++j) {
      const double* c = in + (i + 1) * grid + j;
      out[i * grid + j] = 4 * c[0] - c[-grid] - c[grid] - (j > 0 ? c[-1] : 0) - (j < grid - 1 ? c[1] : 0);
    }
}

/* Solves A x = 1 until the residual has fallen by ten digits; returns the number of iterations. */
static int solve(double* x, double* r, double* d, double* q) {
  const int n = rows * grid;
  for (int i = 0; i < n; ++i) x[i] = 0, r[i] = d[grid + i] = 1.0;
  double rr = dot(r, r);
  const double goal = 1e-20 * rr;
  int iterations = 0;
  for (; rr > goal; ++iterations) {
    apply(d, q);
    const double alpha = rr / dot(d + grid, q);
    for (int i = 0; i < n; ++i) x[i] += alpha * d[grid + i], r[i] -= alpha * q[i];
    const double next = dot(r, r), beta = next / rr;
    for (int i = 0; i < n; ++i) d[grid + i] = r[i] + beta * d[grid + i];
    rr = next;
  }
  return iterations;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int settings[2] = {argc > 1 ? atoi(argv[1]) : 64, argc > 2 ? atoi(argv[2]) : 10};
  MPI_Bcast(settings, 2, MPI_INT, 0, MPI_COMM_WORLD);
  grid = settings[0];
  rows = grid / ranks + (rank < grid % ranks);

  const size_t n = (size_t)rows * grid, size = sizeof(double);
  double *x = calloc(n, size), *r = calloc(n, size), *q = calloc(n, size);
  double* d = calloc(n + 2 * (size_t)grid, size); /* the direction, with ghost rows */
  solve(x, r, d, q);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  int iterations = 0;
  for (int i = 0; i < settings[1]; ++i) iterations += solve(x, r, d, q);
  double mine = MPI_Wtime() - start, slowest;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const double norm = sqrt(dot(x, x));
  if (rank == 0)
    printf("%d iterations on a %d x %d grid with %d ranks: norm %.6e, %.6f seconds\n", iterations, grid, grid, ranks,
           norm, slowest);
  free(x), free(r), free(q), free(d);
  MPI_Finalize();
  return 0;
}
