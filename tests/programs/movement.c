// Bcast, Gather, Scatter, Allgather and Alltoall of many datatypes, counts and roots, in place and not, against what
// must arrive.
//
// Every buffer is an array of ints with a guard value wherever the datatype leaves a gap: gaps must stay untouched.
#include "check.h"

enum { guard = -77, max_places = 3 };

struct layout {
  const char* name;
  MPI_Datatype type;
  int ints;               // in one element
  int place[max_places];  // of each, in the order of the type map
  int extent;             // in ints
};

static int rank, p;

static int value(int source, int target, int i) { return source * 1000003 + target * 7919 + i; }

static struct layout vector_layout(void) {
  struct layout l = {"vector", MPI_DATATYPE_NULL, 2, {0, 2}, 3};
  MPI_Type_vector(2, 1, 2, MPI_INT, &l.type);
  MPI_Type_commit(&l.type);
  return l;
}

static struct layout contiguous_layout(void) {
  struct layout l = {"contiguous", MPI_DATATYPE_NULL, 2, {0, 1}, 2};
  MPI_Datatype inner;
  MPI_Type_dup(MPI_INT, &inner);
  MPI_Type_contiguous(2, inner, &l.type);
  MPI_Type_commit(&l.type);
  MPI_Type_free(&inner);
  return l;
}

// Without gaps, but the second int comes first.
static struct layout swapped_layout(void) {
  struct layout l = {"swapped", MPI_DATATYPE_NULL, 2, {1, 0}, 2};
  const int ones[] = {1, 1}, displs[] = {1, 0};
  MPI_Type_indexed(2, ones, displs, MPI_INT, &l.type);
  MPI_Type_commit(&l.type);
  return l;
}

static struct layout resized_layout(void) {
  struct layout l = {"resized", MPI_DATATYPE_NULL, 2, {0, 1}, 5};
  MPI_Datatype inner;
  MPI_Type_contiguous(2, MPI_INT, &inner);
  MPI_Type_create_resized(inner, -(MPI_Aint)sizeof(int), 5 * sizeof(int), &l.type);
  MPI_Type_commit(&l.type);
  MPI_Type_free(&inner);
  return l;
}

static size_t length(const struct layout* l, int elements) { return (size_t)elements * l->extent + 1; }

static int* buffer(const struct layout* l, int elements) {
  int* b = malloc(length(l, elements) * sizeof *b);
  for (size_t i = 0; i < length(l, elements); ++i) b[i] = guard;
  return b;
}

static void put(const struct layout* l, int* b, int first, int elements, int source, int target) {
  for (int e = 0; e < elements; ++e)
    for (int k = 0; k < l->ints; ++k)
      b[(size_t)(first + e) * l->extent + l->place[k]] = value(source, target, e * l->ints + k);
}

// Compares with a buffer in which everything was put as it must be.
static void compare(const struct layout* l, const int* got, const int* wanted, int elements, const char* what, int n,
                    int root) {
  for (size_t i = 0; i < length(l, elements); ++i)
    if (got[i] != wanted[i]) {
      fail("%s of %d %s, root %d: int %zu is %d, not %d", what, n, l->name, root, i, got[i], wanted[i]);
      return;
    }
}

static void test_bcast(MPI_Comm comm, const struct layout* at_root, const struct layout* elsewhere, int n, int root) {
  const struct layout* l = rank == root ? at_root : elsewhere;
  const int elements = n * 2 / l->ints;
  int* b = buffer(l, elements);
  int* wanted = buffer(l, elements);
  put(l, wanted, 0, elements, root, 0);
  if (rank == root) put(l, b, 0, elements, root, 0);
  MPI_Bcast(b, elements, l->type, root, comm);
  compare(l, b, wanted, elements, "bcast", n, root);
  free(b);
  free(wanted);
}

static void test_gather(MPI_Comm comm, const struct layout* s, const struct layout* r, int n, int root, int in_place) {
  const int sends = n * 2 / s->ints, receives = n * 2 / r->ints;
  int* send = buffer(s, sends);
  int* recv = buffer(r, receives * p);
  int* wanted = buffer(r, receives * p);
  put(s, send, 0, sends, rank, 0);
  const int here = in_place && rank == root;
  if (here) put(r, recv, rank * receives, receives, rank, 0);
  for (int from = 0; from < p && rank == root; ++from) put(r, wanted, from * receives, receives, from, 0);
  MPI_Gather(here ? MPI_IN_PLACE : send, sends, s->type, recv, receives, r->type, root, comm);
  compare(r, recv, wanted, receives * p, "gather", n, root);
  free(send);
  free(recv);
  free(wanted);
}

static void test_scatter(MPI_Comm comm, const struct layout* s, const struct layout* r, int n, int root, int in_place) {
  const int sends = n * 2 / s->ints, receives = n * 2 / r->ints;
  int* send = buffer(s, sends * p);
  int* recv = buffer(r, receives);
  int* wanted = buffer(r, receives);
  for (int to = 0; to < p; ++to) put(s, send, to * sends, sends, root, to);
  const int here = in_place && rank == root;
  if (!here) put(r, wanted, 0, receives, root, rank);
  MPI_Scatter(send, sends, s->type, here ? MPI_IN_PLACE : recv, receives, r->type, root, comm);
  compare(r, recv, wanted, receives, "scatter", n, root);
  free(send);
  free(recv);
  free(wanted);
}

static void test_allgather(MPI_Comm comm, const struct layout* s, const struct layout* r, int n, int in_place) {
  const int sends = n * 2 / s->ints, receives = n * 2 / r->ints;
  int* send = buffer(s, sends);
  int* recv = buffer(r, receives * p);
  int* wanted = buffer(r, receives * p);
  put(s, send, 0, sends, rank, 0);
  if (in_place) put(r, recv, rank * receives, receives, rank, 0);
  for (int from = 0; from < p; ++from) put(r, wanted, from * receives, receives, from, 0);
  MPI_Allgather(in_place ? MPI_IN_PLACE : send, sends, s->type, recv, receives, r->type, comm);
  compare(r, recv, wanted, receives * p, in_place ? "allgather in place" : "allgather", n, 0);
  free(send);
  free(recv);
  free(wanted);
}

static void test_alltoall(MPI_Comm comm, const struct layout* s, const struct layout* r, int n, int in_place) {
  const int sends = n * 2 / s->ints, receives = n * 2 / r->ints;
  int* send = buffer(s, sends * p);
  int* recv = buffer(r, receives * p);
  int* wanted = buffer(r, receives * p);
  for (int to = 0; to < p; ++to) {
    put(s, send, to * sends, sends, rank, to);
    if (in_place) put(r, recv, to * receives, receives, rank, to);
    put(r, wanted, to * receives, receives, to, rank);
  }
  MPI_Alltoall(in_place ? MPI_IN_PLACE : send, sends, s->type, recv, receives, r->type, comm);
  compare(r, recv, wanted, receives * p, in_place ? "alltoall in place" : "alltoall", n, 0);
  free(send);
  free(recv);
  free(wanted);
}

static void test_all(MPI_Comm comm, const struct layout* a, const struct layout* b, int n) {
  const int roots = n < 1000 ? p : 1;
  for (int r = 0; r < roots; ++r) {
    const int root = roots == 1 ? p - 1 : r;
    test_bcast(comm, a, b, n, root);
    for (int in_place = 0; in_place < 2; ++in_place) {
      test_gather(comm, a, b, n, root, in_place);
      test_scatter(comm, a, b, n, root, in_place);
    }
  }
  for (int in_place = 0; in_place < 2; ++in_place) {
    test_allgather(comm, a, b, n, in_place);
    test_alltoall(comm, a, b, n, in_place);
  }
  MPI_Barrier(comm);
}

// Usage: movement [LARGEST]: counts up to that (default 1000).
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int largest = argc > 1 ? atoi(argv[1]) : 1000;
  MPI_Comm comm, backwards;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
  const struct layout plain = {"int", MPI_INT, 1, {0}, 1};
  const struct layout layouts[] = {plain, vector_layout(), contiguous_layout(), swapped_layout(), resized_layout()};
  const int kinds = sizeof layouts / sizeof *layouts;
  for (int c = 0; c < 2; ++c) {
    comm = c ? backwards : MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    const int counts[] = {0, 1, p - 1, p, p + 1, 1000, 50000};
    for (int i = 0; i < 7 && counts[i] <= largest; ++i) {
      for (int k = 0; k < kinds; ++k) test_all(comm, &layouts[k], &layouts[k], counts[i]);
      test_all(comm, &layouts[0], &layouts[1], counts[i]);
      test_all(comm, &layouts[3], &layouts[0], counts[i]);
    }
  }
  MPI_Comm_free(&backwards);
  return finish();
}
