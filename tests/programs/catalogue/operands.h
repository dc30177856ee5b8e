// Operations that combine the vectors of all ranks: what each rank contributes, and what must come out.
#ifndef CATALOGUE_OPERANDS_H
#define CATALOGUE_OPERANDS_H

#include "trial.h"

// Contributions repeat with this period, so that results are computed once for each element of it. It is prime: blocks
// that arrive in the wrong place show.
enum { period = 61, max_ints = 5, modulus = 10007 };

// A kind of elements and what combines them.
struct kind {
  const char* name;
  int ints, gap;  // in an element, and which of them is none of its data (-1: all are)
  void (*operand)(int* to, int source, int i);
  MPI_User_function* combine;
  MPI_Datatype type;
  MPI_Op op;
};

static void int_operand(int* to, int source, int i) { *to = (source + 3) * (i % 7 + 1) - 20 + turn; }

static void int_sum(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)inout)[i] += ((const int*)in)[i];
}

static void double_operand(int* to, int source, int i) {
  const double value = (source * 17 + i * 5 + turn) % 23 / 8.0 - 1;
  memcpy(to, &value, sizeof value);
}

static void double_max(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  const double* left = in;
  double* right = inout;
  for (int i = 0; i < *n; ++i) right[i] = left[i] > right[i] ? left[i] : right[i];
}

// 2 x 2 matrices modulo a prime: their product does not commute and is exact. There is a gap between the two rows.
enum { second_row = 3 };

static void matrix_operand(int* to, int source, int i) {
  for (int k = 0; k < 2; ++k) {
    to[k] = (source * 31 + i * 7 + k * 5 + turn + 1) % modulus;
    to[k + second_row] = (source * 29 + i * 3 + k * 11 + turn + 2) % modulus;
  }
}

static void matrix_product(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) {
    const int *a = (const int*)in + i * max_ints, *c = a + second_row;
    int *b = (int*)inout + i * max_ints, *d = b + second_row;
    const int upper[] = {(a[0] * b[0] + a[1] * d[0]) % modulus, (a[0] * b[1] + a[1] * d[1]) % modulus};
    const int lower[] = {(c[0] * b[0] + c[1] * d[0]) % modulus, (c[0] * b[1] + c[1] * d[1]) % modulus};
    memcpy(b, upper, sizeof upper);
    memcpy(d, lower, sizeof lower);
  }
}

static struct kind kinds[3];
static const struct kind* kind;  // at hand
enum { kind_count = sizeof kinds / sizeof *kinds };

static void make_kinds(void) {
  kinds[0] = (struct kind){"sums of ints", 1, -1, int_operand, int_sum, MPI_INT, MPI_SUM};
  kinds[1] = (struct kind){"maxima of doubles", 2, -1, double_operand, double_max, MPI_DOUBLE, MPI_MAX};
  kinds[2] = (struct kind){"products of matrices", max_ints, 2, matrix_operand, matrix_product, 0, 0};
  MPI_Type_vector(2, 2, second_row, MPI_INT, &kinds[2].type);
  MPI_Type_commit(&kinds[2].type);
  MPI_Op_create(matrix_product, 0, &kinds[2].op);
}

static void copy_element(int* to, const int* from) {
  for (int k = 0; k < kind->ints; ++k)
    if (k != kind->gap) to[k] = from[k];
}

// One period of what the first `ranks` ranks contribute, combined in their order.
static void combine_first(int ranks, int* result) {
  _Alignas(double) int right[max_ints];
  int one = 1;
  MPI_Datatype type = kind->type;
  for (int i = 0; i < period; ++i) {
    int* left = result + i * kind->ints;
    kind->operand(left, 0, i);
    for (int r = 1; r < ranks; ++r) {
      kind->operand(right, r, i);
      kind->combine(left, right, &one, &type);
      copy_element(left, right);
    }
  }
}

static int total;            // elements that each rank contributes
static int first_of_result;  // of these
static int result_count;     // 0: nothing comes out here
static int ranks_in_result;

static void fill_operands(struct trial* t) {
  _Alignas(double) int result[period * max_ints];
  int* own = t->in_place ? t->recv : t->send;
  for (int i = 0; i < total; ++i) kind->operand(own + i * kind->ints, rank, i % period);
  if (t->in_place) memcpy(t->wanted, t->recv, t->recv_ints * sizeof(int));
  if (result_count > 0) combine_first(ranks_in_result, result);
  for (int i = 0; i < result_count; ++i)
    copy_element(t->wanted + i * kind->ints, result + (first_of_result + i) % period * kind->ints);
}

// `n` elements in the result (unequal parts: that or a multiple) of operation `o`.
static void combine(const struct operation* o, enum form form, MPI_Comm comm, int n, int root, int in_place) {
  int counts[max_ranks];
  const int here = o->rooted == nobody || rank == root;
  total = n;
  first_of_result = 0;
  result_count = here ? n : 0;
  ranks_in_result = o->result == up_to_own ? rank + 1 : o->result == before_own ? rank : p;
  if (ranks_in_result == 0) result_count = 0;
  if (o->result == own_part) {
    total = 0;
    // No part is longer than what lies before it: where it is, MPICH 5.0.2 refuses to bring it to the front, in place.
    for (int r = 0; r < p; ++r) {
      counts[r] = o->parts == unequal ? n * ((r + 2) % 3) : n;
      if (r == rank) first_of_result = total;
      total += counts[r];
    }
    result_count = counts[rank];
  }
  struct trial t = {.operation = o, .form = form, .n = n, .kind = kind->name, .fill = fill_operands};
  t.in_place = in_place && here;
  t.call = (struct call){.op = kind->op, .root = root, .comm = comm};
  t.call.recv = (struct side){.count = n, .type = kind->type, .counts = counts};
  t.send_ints = (size_t)total * kind->ints;
  t.recv_ints = (size_t)(t.in_place ? total : result_count) * kind->ints;
  t.compared = ranks_in_result == 0 ? 0 : (size_t)result_count * kind->ints;
  run(&t);
}

#endif
