// Reduce and Allreduce of predefined and user-defined operations on many types, counts and roots, in place and not,
// against results computed from all ranks' contributions, which every rank knows.
#include <complex.h>
#include <stdint.h>

#include "check.h"

static int rank, p;

// The operand of a rank; small, so that products stay exact in every type.
static int operand(int source, int i) { return (source * 7 + i * 3) % 5 + ((source + i) % 3 == 0 ? 0 : 1); }

enum { sum, prod, max, min, land, lor, lxor, band, bor, bxor, operations };
static const char* const names[] = {"sum", "prod", "max", "min", "land", "lor", "lxor", "band", "bor", "bxor"};

static MPI_Op handle(int op) {
  const MPI_Op handles[] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                            MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
  return handles[op];
}

// Wraps like the type itself: unsigned arithmetic, cut off by the conversion at the end.
static uint64_t combine(int op, uint64_t a, uint64_t b) {
  switch (op) {
    case sum: return a + b;
    case prod: return a * b;
    case max: return a > b ? a : b;
    case min: return a < b ? a : b;
    case land: return a && b;
    case lor: return a || b;
    case lxor: return !a != !b;
    case band: return a & b;
    case bor: return a | b;
    default: return a ^ b;
  }
}

// Runs reduce to each root and allreduce, in place and not; `wanted` is the result, `own` this rank's contribution.
static void run_all(MPI_Comm comm, const void* own, const void* wanted, size_t bytes, int n, MPI_Datatype type,
                    MPI_Op op, const char* what) {
  char* recv = malloc(bytes + 1);
  for (int root = 0; root <= p; ++root)  // p: allreduce
    for (int in_place = 0; in_place < 2; ++in_place) {
      const int all = root == p, here = all || rank == root;
      memset(recv, 99, bytes);
      if (in_place && here) memcpy(recv, own, bytes);
      const void* send = in_place && here ? MPI_IN_PLACE : own;
      if (all)
        MPI_Allreduce(send, recv, n, type, op, comm);
      else
        MPI_Reduce(send, recv, n, type, op, root, comm);
      if (here && memcmp(recv, wanted, bytes) != 0)
        fail("%s of %d%s, root %d of %d", what, n, in_place ? " in place" : "", root, p);
    }
  free(recv);
}

#define TEST(T, TYPE, FIRST, LAST)                                             \
  for (int op = FIRST; op <= LAST; ++op) {                                     \
    T* own = calloc(n + 1, sizeof(T));                                         \
    T* wanted = calloc(n + 1, sizeof(T));                                      \
    for (int i = 0; i < n; ++i) {                                              \
      uint64_t result = operand(0, i);                                         \
      for (int r = 1; r < p; ++r) result = combine(op, result, operand(r, i)); \
      own[i] = (T)operand(rank, i);                                            \
      wanted[i] = (T)result;                                                   \
    }                                                                          \
    char what[64];                                                             \
    snprintf(what, sizeof what, "%s of %s", names[op], #TYPE);                 \
    run_all(comm, own, wanted, n * sizeof(T), n, TYPE, handle(op), what);      \
    free(own);                                                                 \
    free(wanted);                                                              \
  }

static void test_predefined(MPI_Comm comm, int n) {
  TEST(char, MPI_CHAR, max, bxor)  // no number to MPI, but to all hosts
  TEST(int8_t, MPI_INT8_T, max, bxor)
  TEST(int16_t, MPI_SHORT, sum, bxor)
  TEST(int, MPI_INT, sum, bxor)
  TEST(int64_t, MPI_INT64_T, sum, bxor)
  TEST(uint8_t, MPI_UINT8_T, max, bxor)
  TEST(uint16_t, MPI_UNSIGNED_SHORT, sum, bxor)
  TEST(uint32_t, MPI_UNSIGNED, sum, bxor)
  TEST(unsigned long, MPI_UNSIGNED_LONG, sum, bxor)
  TEST(float, MPI_FLOAT, sum, sum)
  TEST(float, MPI_FLOAT, max, min)
  TEST(double, MPI_DOUBLE, sum, sum)
  TEST(double, MPI_DOUBLE, max, min)
  TEST(_Bool, MPI_C_BOOL, land, lxor)
  TEST(unsigned char, MPI_BYTE, band, bxor)
  TEST(MPI_Aint, MPI_AINT, sum, min)
  TEST(double complex, MPI_C_DOUBLE_COMPLEX, sum, sum)
  TEST(double complex, MPI_C_DOUBLE_COMPLEX, prod, prod)
  TEST(float complex, MPI_C_FLOAT_COMPLEX, sum, prod)
}

// Padding inside a long double would spoil the comparison of bytes.
static void test_long_double(MPI_Comm comm, int n) {
  long double* own = malloc((n + 1) * sizeof *own);
  long double* got = malloc((n + 1) * sizeof *got);
  for (int i = 0; i < n; ++i) own[i] = operand(rank, i);
  MPI_Allreduce(own, got, n, MPI_LONG_DOUBLE, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) {
    long double wanted = 0;
    for (int r = 0; r < p; ++r) wanted += operand(r, i);
    if (got[i] != wanted) fail("sum of MPI_LONG_DOUBLE, element %d", i);
  }
  free(own);
  free(got);
}

// The index of rank r is p - r: of equal values that of the last rank is the smallest.
#define TEST_LOCATION(VALUE, INDEX, TYPE)                                                                  \
  for (int largest = 0; largest < 2; ++largest) {                                                          \
    struct pair {                                                                                          \
      VALUE value;                                                                                         \
      INDEX index;                                                                                         \
    } *own = calloc(n + 1, sizeof *own), *got = calloc(n + 1, sizeof *got);                                \
    for (int i = 0; i < n; ++i) own[i] = (struct pair){operand(rank, i), p - rank};                        \
    MPI_Allreduce(own, got, n, TYPE, largest ? MPI_MAXLOC : MPI_MINLOC, comm);                             \
    for (int i = 0; i < n; ++i) {                                                                          \
      int best = 0;                                                                                        \
      for (int r = 1; r < p; ++r)                                                                          \
        if (largest ? operand(r, i) >= operand(best, i) : operand(r, i) <= operand(best, i)) best = r;     \
      if (got[i].value != operand(best, i) || got[i].index != p - best) fail("%s: location %d", #TYPE, i); \
    }                                                                                                      \
    free(own);                                                                                             \
    free(got);                                                                                             \
  }

static void test_location(MPI_Comm comm, int n) {
  TEST_LOCATION(double, int, MPI_DOUBLE_INT)
  TEST_LOCATION(float, int, MPI_FLOAT_INT)
  TEST_LOCATION(long, int, MPI_LONG_INT)
  TEST_LOCATION(int, int, MPI_2INT)
  TEST_LOCATION(short, int, MPI_SHORT_INT)
  TEST_LOCATION(long double, int, MPI_LONG_DOUBLE_INT)
}

// Of any two elements the first: associative, but the order matters.
static void first_of(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  memcpy(inout, in, *count * sizeof(int));
}
// Functions one after the other, whose handles may be alike: what was decided for one that commutes is wrong for the
// next.
static void test_functions_in_turn(MPI_Comm comm) {
  for (int turn = 0; turn < 6; ++turn) {
    const int ordered = turn % 2;
    MPI_Op op;
    MPI_Op_create(ordered ? first_of : add_ints, !ordered, &op);
    for (int again = 0; again < 3; ++again) {
      int got = -1;
      MPI_Allreduce(&rank, &got, 1, MPI_INT, op, comm);
      if (got != (ordered ? 0 : p * (p - 1) / 2)) fail("function %d, call %d: %d", turn, again, got);
    }
    MPI_Op_free(&op);
  }
}

// x -> a x + b. Composition does not commute; with wrapping integers it is associative and exact.
struct affine {
  uint64_t a;
  uint32_t b;
  uint32_t unused;  // a gap in the datatype
};

static struct affine affine_of(int source, int i) {
  return (struct affine){2 * operand(source, i) + 1, source * 31 + i, 0};
}

static struct affine compose(struct affine left, struct affine right) {
  return (struct affine){left.a * right.a, (uint32_t)(left.a * right.b + left.b), 0};
}

// Leaves the gap as it is.
static void compose_all(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const struct affine* left = in;
  struct affine* right = inout;
  for (int i = 0; i < *count; ++i) {
    const struct affine result = compose(left[i], right[i]);
    right[i].a = result.a;
    right[i].b = result.b;
  }
}

static void compose_shifted(void* in, void* inout, int* count, MPI_Datatype* type) {
  compose_all((struct affine*)in - 1, (struct affine*)inout - 1, count, type);
}

// `type` describes the element that lies `shift` elements before the address it is given.
static void test_user(MPI_Comm comm, int n, MPI_Datatype type, int shift, const char* what) {
  MPI_Op op;
  MPI_Op_create(shift ? compose_shifted : compose_all, 0, &op);
  struct affine* own = calloc(n + 1, sizeof *own);
  struct affine* wanted = calloc(n + 1, sizeof *wanted);
  struct affine* got = calloc(n + 1, sizeof *got);
  for (int i = 0; i < n; ++i) {
    own[i] = affine_of(rank, i);
    own[i].unused = 1234;
    wanted[i] = affine_of(0, i);
    for (int r = 1; r < p; ++r) wanted[i] = compose(wanted[i], affine_of(r, i));
  }
  for (int root = 0; root <= p; ++root)
    for (int in_place = 0; in_place < 2; ++in_place) {
      const int all = root == p, here = all || rank == root;
      for (int i = 0; i < n; ++i) {
        got[i] = own[i];
        got[i].unused = 4321;
      }
      const void* send = in_place && here ? MPI_IN_PLACE : own + shift;
      if (all)
        MPI_Allreduce(send, got + shift, n, type, op, comm);
      else
        MPI_Reduce(send, got + shift, n, type, op, root, comm);
      for (int i = 0; i < n && here; ++i) {
        if (got[i].a != wanted[i].a || got[i].b != wanted[i].b) {
          fail("%s: composition of %d%s, root %d, element %d", what, n, in_place ? " in place" : "", root, i);
          break;
        }
        if (got[i].unused != 4321) {
          fail("%s: gap of element %d written", what, i);
          break;
        }
      }
    }
  free(own);
  free(wanted);
  free(got);
  MPI_Op_free(&op);
}

static MPI_Datatype affine_type(int shift) {
  MPI_Datatype inner, type;
  const MPI_Aint size = sizeof(struct affine);
  const int ones[] = {1, 1};
  const MPI_Aint displs[] = {-shift * size, -shift * size + 8};
  const MPI_Datatype types[] = {MPI_UINT64_T, MPI_UINT32_T};
  MPI_Type_create_struct(2, ones, displs, types, &inner);
  MPI_Type_create_resized(inner, 0, size, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&inner);
  return type;
}

// Elements larger than any fragment of a transport: many affine maps each.
enum { maps = 1500 };

static void compose_many(void* in, void* inout, int* count, MPI_Datatype* type) {
  int total = *count * maps;
  compose_all(in, inout, &total, type);
}

static void test_large_elements(MPI_Comm comm, int n) {
  MPI_Datatype type;
  MPI_Op op;
  MPI_Type_contiguous(maps * sizeof(struct affine), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(compose_many, 0, &op);
  const int total = n * maps;
  struct affine* own = malloc((total + 1) * sizeof *own);
  struct affine* wanted = malloc((total + 1) * sizeof *wanted);
  for (int i = 0; i < total; ++i) {
    own[i] = affine_of(rank, i);
    wanted[i] = affine_of(0, i);
    for (int r = 1; r < p; ++r) wanted[i] = compose(wanted[i], affine_of(r, i));
  }
  run_all(comm, own, wanted, total * sizeof *own, n, type, op, "composition of large elements");
  free(own);
  free(wanted);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

// Usage: reductions [LARGEST]: counts up to that (default 1000).
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int largest = argc > 1 ? atoi(argv[1]) : 1000;
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  test_functions_in_turn(comm);
  MPI_Datatype padded = affine_type(0), shifted = affine_type(1);
  const int counts[] = {0, 1, p - 1, p, p + 1, 1000, 100000};
  for (int i = 0; i < 7 && counts[i] <= largest; ++i) {
    const int n = counts[i];
    if (n <= 1000) test_predefined(comm, n);
    test_long_double(comm, n);
    test_location(comm, n);
    test_user(comm, n, padded, 0, "padded");
    if (n <= 1000) test_user(comm, n, shifted, 1, "shifted");
    if (n <= p + 1) test_large_elements(comm, n);
    if (n == 100000) {
      TEST(float, MPI_FLOAT, sum, sum)
      TEST(int, MPI_INT, bxor, bxor)
    }
  }
  MPI_Type_free(&padded);
  MPI_Type_free(&shifted);
  return finish();
}
