// The program's own reductions of a type of two integers between which lie pages that nobody can read, and predefined ones that only C's
// integers have.
#define _DEFAULT_SOURCE
#include "check.h"

#include <sys/mman.h>

enum { APART = 12288, SPAN = 16384, PAGE = 4096, ELEMENTS = 3 };

static char* two_ends(int element, char* all) { return all + (long)element * SPAN; }

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lb, extent;
  MPI_Type_get_extent(*type, &lb, &extent);
  for (int i = 0; i < *count; ++i) {
    char *from = (char*)in + i * extent, *to = (char*)inout + i * extent;
    *(int*)to += *(int*)from;
    *(int*)(to + APART) += *(int*)(from + APART);
  }
}

static char* with_holes(void) {
  char* all = mmap(NULL, ELEMENTS * SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < ELEMENTS; ++i) mprotect(two_ends(i, all) + PAGE, APART - PAGE, PROT_NONE);
  return all;
}

static void fill(char* all, int rank) {
  for (int i = 0; i < ELEMENTS; ++i) {
    *(int*)two_ends(i, all) = rank + i;
    *(int*)(two_ends(i, all) + APART) = 10 * rank + i;
  }
}

static void expect(char* all, int p, const char* what) {
  const int ranks = p * (p - 1) / 2;
  for (int i = 0; i < ELEMENTS; ++i)
    if (*(int*)two_ends(i, all) != ranks + p * i || *(int*)(two_ends(i, all) + APART) != 10 * ranks + p * i)
      fail("%s", what);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  char *own = with_holes(), *result = with_holes();
  MPI_Datatype ends, spaced;
  MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){0, APART}, MPI_INT, &ends);
  MPI_Type_create_resized(ends, 0, SPAN, &spaced);
  MPI_Type_commit(&spaced);
  MPI_Type_free(&ends);
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  fill(own, rank);
  MPI_Allreduce(own, result, ELEMENTS, spaced, op, MPI_COMM_WORLD);
  expect(result, p, "allreduce");
  MPI_Request request;
  MPI_Ireduce(own, result, ELEMENTS, spaced, op, p - 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == p - 1) expect(result, p, "ireduce");
  MPI_Allreduce(MPI_IN_PLACE, own, ELEMENTS, spaced, op, MPI_COMM_WORLD);
  expect(own, p, "allreduce in place");
  MPI_Allreduce(MPI_IN_PLACE, own, 0, spaced, op, MPI_COMM_WORLD);
  MPI_Op_free(&op);
  MPI_Type_free(&spaced);

  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int one = 1, sum = 0, class = MPI_SUCCESS;
  MPI_Error_class(MPI_Allreduce(&one, &sum, 1, MPI_INTEGER, MPI_LAND, MPI_COMM_WORLD), &class);
  if (class != MPI_ERR_OP) fail("a logical operation of Fortran integers: class %d", class);
  const int code = MPI_Allreduce(&one, &sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD);
  if (code != MPI_SUCCESS || sum != p) fail("their sum: %d, code %d", sum, code);
  return finish();
}
