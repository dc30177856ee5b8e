// All ranks get the same bits of an allreduce, whichever algorithm runs; and operations of the program keep the order of
// the ranks, also such as are declared commutative but tell equal operands apart, as a search for a pivot does.
//
// Usage: same_bits CHOICES...: such as "reduce=linear scan=binomial", one after the other, each on a communicator of its
// own.
#include <complex.h>
#include <float.h>
#include <math.h>

#include "check.h"

enum { most = 3000 };                                                  // elements: several slots of the largest type
enum { wide_bytes = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double) };  // of a long double: x86's has gaps behind it

static int rank, p;
static const char* choices;

struct pivot {
  double value;
  long row;
};

// Of two pivots the larger, of equal ones the one on the right.
static void larger(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  struct pivot *left = in, *right = inout;
  for (int i = 0; i < *count; ++i)
    if (left[i].value > right[i].value) right[i] = left[i];
}

static void expect_row(const char* what, const struct pivot* got, int n, int row) {
  for (int i = 0; i < n; ++i)
    if (got[i].value != 7 || got[i].row != row) {
      fail("%s: %s of %d: element %d is of rank %ld instead of %d", choices, what, n, i, got[i].row, row);
      return;
    }
}

// All values are equal: the last operand wins.
static void test_order(MPI_Comm comm, int n, MPI_Datatype type, MPI_Op op) {
  static struct pivot own[most], got[most], all[most * 5];
  const struct pivot mine = {7, rank};
  for (int i = 0; i < n; ++i) own[i] = mine;
  for (int i = 0; i < n * p; ++i) all[i] = mine;
  MPI_Allreduce(own, got, n, type, op, comm);
  expect_row("allreduce", got, n, p - 1);
  memcpy(got, own, sizeof own);
  MPI_Allreduce(MPI_IN_PLACE, got, n, type, op, comm);
  expect_row("allreduce in place", got, n, p - 1);
  for (int root = 0; root < p; ++root) {
    MPI_Reduce(own, got, n, type, op, root, comm);
    if (rank == root) expect_row("reduce", got, n, p - 1);
  }
  MPI_Scan(own, got, n, type, op, comm);
  expect_row("scan", got, n, rank);
  MPI_Exscan(own, got, n, type, op, comm);
  if (rank > 0) expect_row("exscan", got, n, rank - 1);
  MPI_Reduce_scatter_block(all, got, n, type, op, comm);
  expect_row("reduce_scatter_block", got, n, p - 1);
  int counts[5];
  for (int r = 0; r < p; ++r) counts[r] = n;
  MPI_Reduce_scatter(all, got, counts, type, op, comm);
  expect_row("reduce_scatter", got, n, p - 1);
}

// Rank 0 tells its result. Of each element's `stride` bytes only the first `used` are somebody's: bits, so that 0 is not
// -0.
static void compare(MPI_Comm comm, const char* what, const void* own, int n, MPI_Datatype type, size_t stride,
                    size_t used, MPI_Op op) {
  static _Alignas(16) char got[most * 16], first[most * 16];
  MPI_Allreduce(own, got, n, type, op, comm);
  memcpy(first, got, n * stride);
  MPI_Bcast(first, (int)(n * stride), MPI_BYTE, 0, comm);
  for (int i = 0; i < n; ++i)
    if (memcmp(first + i * stride, got + i * stride, used) != 0) {
      fail("%s: %s of %d: element %d has other bits than on rank 0", choices, what, n, i);
      return;
    }
}

static void test_predefined(MPI_Comm comm, int n) {
  static double numbers[most], zeros[most];
  static double complex products[most];
  static struct {
    double value;
    int index;
  } places[most];
  static long double wide[most];
  for (int i = 0; i < n; ++i) {
    numbers[i] = 1. / (3 + rank * 7 + i);
    zeros[i] = (rank + i) % 2 ? 0. : -0.;
    products[i] = numbers[i] + I / (5 + rank + i);
    places[i].value = (rank + i) % 3 ? 1 : NAN;  // no NaN is less than anything: the order decides
    places[i].index = rank;
    wide[i] = zeros[i];
  }
  compare(comm, "sum", numbers, n, MPI_DOUBLE, 8, 8, MPI_SUM);
  compare(comm, "maximum of zeros", zeros, n, MPI_DOUBLE, 8, 8, MPI_MAX);
  compare(comm, "minimum of zeros", zeros, n, MPI_DOUBLE, 8, 8, MPI_MIN);
  compare(comm, "product of complex numbers", products, n, MPI_C_DOUBLE_COMPLEX, 16, 16, MPI_PROD);
  compare(comm, "place of the least", places, n, MPI_DOUBLE_INT, 16, 12, MPI_MINLOC);
  compare(comm, "maximum of wide zeros", wide, n, MPI_LONG_DOUBLE, sizeof *wide, wide_bytes, MPI_MAX);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Datatype type;
  MPI_Type_contiguous(sizeof(struct pivot), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Op op;
  MPI_Op_create(larger, 1, &op);
  for (int i = 1; i < argc; ++i) {
    choices = argv[i];
    MPI_Comm comm;
    MPI_Info info;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Info_create(&info);
    for (const char* at = choices; *at;) {
      char operation[64], algorithm[64], key[80];
      int read = 0;
      if (sscanf(at, "%63[^=]=%63s %n", operation, algorithm, &read) != 2) break;
      snprintf(key, sizeof key, "omnes_%s", operation);
      MPI_Info_set(info, key, algorithm);
      at += read;
    }
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    const int counts[] = {1, p + 1, most};
    for (int k = 0; k < 3; ++k) {
      test_order(comm, counts[k], type, op);
      test_predefined(comm, counts[k]);
    }
    MPI_Comm_free(&comm);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  return finish();
}
