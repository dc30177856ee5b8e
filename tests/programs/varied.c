// Collectives as programs make them: from call to call other counts, roots, datatypes, operations and buffers. What
// arrives is known from the sender, the call and the place. Usage: varied [CALLS].
//
// With the argument "fresh": after the first calls of a kind, those of other sizes may allocate nothing.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "check.h"

enum { MAX_RANKS = 8, MAX_COUNT = 6000, ROOM = 3 * MAX_COUNT * MAX_RANKS, UNTOUCHED = -7 };

static int rank, p, round_number;
static MPI_Comm comm;
static int send_buffer[ROOM], recv_buffer[ROOM];

// The same numbers on all ranks.
static unsigned long long seed = 88172645463325252ULL;
static int number(int below) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return (int)(seed % (unsigned)below);
}

// Mostly few, sometimes none or many.
static int some(int most) {
  const int kind = number(8);
  return number(kind == 0 ? 1 : kind < 5 ? 6 : kind < 7 ? 300 : most);
}

// Integers i of an element at i * gap; elements at each multiple of `extent`.
typedef struct {
  MPI_Datatype handle;
  int integers, gap, extent, made;
} Type;

static Type some_type(void) {
  Type types[] = {{MPI_INT, 1, 1, 1, 0}, {MPI_DATATYPE_NULL, 2, 1, 2, 1}, {MPI_DATATYPE_NULL, 2, 2, 3, 1}};
  Type type = types[number(6) % 5 % 3];
  if (!type.made) return type;
  if (type.gap == 1)
    MPI_Type_contiguous(2, MPI_INT, &type.handle);
  else
    MPI_Type_vector(2, 1, 2, MPI_INT, &type.handle);
  MPI_Type_commit(&type.handle);
  return type;
}
static void done_with(Type* type) {
  if (type->made) MPI_Type_free(&type->handle);
}

// What `from` has for `to` in this round. Small: sums of it are exact.
static int value(int from, int to, int i) { return (from * 131 + to * 17 + round_number * 7 + i * 3) % 9973; }

static void put(int* buffer, const Type* type, int first, int count, int from, int to) {
  for (int i = 0; i < count * type->integers; ++i)
    buffer[(first + i / type->integers) * type->extent + i % type->integers * type->gap] = value(from, to, i);
}
static void expect(const int* buffer, const Type* type, int first, int count, int from, int to, const char* what) {
  for (int i = 0; i < count * type->integers; ++i) {
    const int got = buffer[(first + i / type->integers) * type->extent + i % type->integers * type->gap];
    if (got == value(from, to, i)) continue;
    fail("round %d, %s: integer %d of %d elements from %d is %d, not %d", round_number, what, i, count, from, got,
         value(from, to, i));
    return;
  }
}
static void clear(void) {
  for (int i = 0; i < ROOM; ++i) recv_buffer[i] = UNTOUCHED;
}
static void expect_untouched(int from, const char* what) {
  for (int i = from; i < from + 8 && i < ROOM; ++i)
    if (recv_buffer[i] != UNTOUCHED) fail("round %d, %s: wrote to %d", round_number, what, i);
}

static void bcast(int root) {
  Type type = some_type();
  const int count = some(MAX_COUNT);
  if (rank == root) put(recv_buffer, &type, 0, count, root, 0);
  MPI_Bcast(recv_buffer, count, type.handle, root, comm);
  expect(recv_buffer, &type, 0, count, root, 0, "bcast");
  expect_untouched(count * type.extent, "bcast");
  done_with(&type);
}

static void gather_or_scatter(int root, int in_place) {
  Type type = some_type();
  const int count = some(MAX_COUNT / 4), gathers = number(2), at_root = rank == root;
  if (gathers) {
    put(send_buffer, &type, 0, count, rank, 0);
    if (at_root && in_place) put(recv_buffer, &type, root * count, count, root, 0);
    MPI_Gather(at_root && in_place ? MPI_IN_PLACE : send_buffer, count, type.handle, at_root ? recv_buffer : NULL,
               count, type.handle, root, comm);
    for (int r = 0; r < p && at_root; ++r) expect(recv_buffer, &type, r * count, count, r, 0, "gather");
  } else {
    for (int r = 0; r < p && at_root; ++r) put(send_buffer, &type, r * count, count, root, r);
    MPI_Scatter(at_root ? send_buffer : NULL, count, type.handle, at_root && in_place ? MPI_IN_PLACE : recv_buffer,
                count, type.handle, root, comm);
    if (!at_root || !in_place) expect(recv_buffer, &type, 0, count, root, rank, "scatter");
  }
  expect_untouched(p * count * type.extent, "gather or scatter");
  done_with(&type);
}

static void to_all(int in_place, int nonblocking) {
  Type type = some_type();
  MPI_Request request = MPI_REQUEST_NULL;
  const int count = some(MAX_COUNT / 4), each = number(2);
  int* const own = in_place ? recv_buffer : send_buffer;
  if (each)
    for (int r = 0; r < p; ++r) put(own, &type, r * count, count, rank, r);
  else
    put(own, &type, in_place ? rank * count : 0, count, rank, 0);
  const void* const from = in_place ? MPI_IN_PLACE : send_buffer;
  if (each && nonblocking)
    MPI_Ialltoall(from, count, type.handle, recv_buffer, count, type.handle, comm, &request);
  else if (each)
    MPI_Alltoall(from, count, type.handle, recv_buffer, count, type.handle, comm);
  else if (nonblocking)
    MPI_Iallgather(from, count, type.handle, recv_buffer, count, type.handle, comm, &request);
  else
    MPI_Allgather(from, count, type.handle, recv_buffer, count, type.handle, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < p; ++r)
    expect(recv_buffer, &type, r * count, count, r, each ? rank : 0, each ? "alltoall" : "allgather");
  expect_untouched(p * count * type.extent, "to all");
  done_with(&type);
}

// What ranks up to `last` contribute to `to`, added or the largest.
static int combined(int last, int to, int i, int largest) {
  int result = value(0, to, i);
  for (int r = 1; r <= last; ++r) {
    const int next = value(r, to, i);
    result = !largest ? result + next : next > result ? next : result;
  }
  return result;
}
static void expect_combined(int last, int to, int first, int count, int largest, const char* what) {
  for (int i = 0; i < count; ++i) {
    const int want = combined(last, to, first + i, largest);
    if (recv_buffer[i] == want) continue;
    fail("round %d, %s of %d: %d is %d, not %d", round_number, what, count, i, recv_buffer[i], want);
    return;
  }
  expect_untouched(count, what);
}

static void reduction(int root, int in_place, int nonblocking) {
  const Type integer = {MPI_INT, 1, 1, 1, 0};
  const int count = some(MAX_COUNT), largest = number(2), own_op = !largest && number(2), kind = number(5);
  MPI_Op op = largest ? MPI_MAX : MPI_SUM;
  MPI_Request request = MPI_REQUEST_NULL;
  if (own_op) MPI_Op_create(add_ints, 1, &op);
  const int has_place = in_place && (kind != 0 || rank == root);
  put(has_place ? recv_buffer : send_buffer, &integer, 0, count, rank, 0);
  const void* const from = has_place ? MPI_IN_PLACE : send_buffer;
  switch (kind) {
    case 0:
      MPI_Reduce(from, rank == root ? recv_buffer : NULL, count, MPI_INT, op, root, comm);
      if (rank == root) expect_combined(p - 1, 0, 0, count, largest, "reduce");
      break;
    case 1:
      MPI_Scan(from, recv_buffer, count, MPI_INT, op, comm);
      expect_combined(rank, 0, 0, count, largest, "scan");
      break;
    case 2:
      MPI_Exscan(from, recv_buffer, count, MPI_INT, op, comm);
      if (rank > 0) expect_combined(rank - 1, 0, 0, count, largest, "exscan");
      break;
    default:
      if (nonblocking)
        MPI_Iallreduce(from, recv_buffer, count, MPI_INT, op, comm, &request);
      else
        MPI_Allreduce(from, recv_buffer, count, MPI_INT, op, comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect_combined(p - 1, 0, 0, count, largest, "allreduce");
  }
  if (own_op) MPI_Op_free(&op);
}

static void reduce_scatter(void) {
  const Type integer = {MPI_INT, 1, 1, 1, 0};
  int counts[MAX_RANKS], total = 0, before = 0;
  const int equal = number(2), count = some(MAX_COUNT / 4);
  for (int r = 0; r < p; ++r) {
    counts[r] = equal ? count : some(MAX_COUNT / 4);
    if (r < rank) before += counts[r];
    total += counts[r];
  }
  put(send_buffer, &integer, 0, total, rank, 0);
  if (equal)
    MPI_Reduce_scatter_block(send_buffer, recv_buffer, count, MPI_INT, MPI_SUM, comm);
  else
    MPI_Reduce_scatter(send_buffer, recv_buffer, counts, MPI_INT, MPI_SUM, comm);
  expect_combined(p - 1, 0, before, counts[rank], 0, equal ? "reduce_scatter_block" : "reduce_scatter");
}

// counts[r], and where each part begins: behind the one before, or after a gap, or in another order.
static int lay_out(const int* counts, int* displs, int gap, int backwards) {
  int next = 0;
  for (int i = 0; i < p; ++i) {
    const int r = backwards ? p - 1 - i : i;
    displs[r] = next;
    next += counts[r] + gap;
  }
  return next;
}

static void unequal(int root, int in_place) {
  Type type = some_type();
  int counts[MAX_RANKS], displs[MAX_RANKS];
  const int sparse = number(3) == 0, kind = number(3), at_root = rank == root, own_place = in_place && at_root;
  for (int r = 0; r < p; ++r) counts[r] = sparse && number(4) ? 0 : some(MAX_COUNT / 4);
  const int gap = number(2) * number(3), backwards = number(4) == 0;
  const int all = lay_out(counts, displs, gap, backwards) * type.extent;
  const int n = counts[rank];
  switch (kind) {
    case 0:
      put(send_buffer, &type, 0, n, rank, 0);
      if (own_place) put(recv_buffer, &type, displs[rank], n, rank, 0);
      MPI_Gatherv(own_place ? MPI_IN_PLACE : send_buffer, n, type.handle, recv_buffer, at_root ? counts : NULL,
                  at_root ? displs : NULL, type.handle, root, comm);
      for (int r = 0; r < p && at_root; ++r) expect(recv_buffer, &type, displs[r], counts[r], r, 0, "gatherv");
      break;
    case 1:
      for (int r = 0; r < p && at_root; ++r) put(send_buffer, &type, displs[r], counts[r], root, r);
      MPI_Scatterv(send_buffer, at_root ? counts : NULL, at_root ? displs : NULL, type.handle,
                   own_place ? MPI_IN_PLACE : recv_buffer, n, type.handle, root, comm);
      if (!own_place) expect(recv_buffer, &type, 0, n, root, rank, "scatterv");
      break;
    default:
      put(in_place ? recv_buffer : send_buffer, &type, in_place ? displs[rank] : 0, n, rank, 0);
      MPI_Allgatherv(in_place ? MPI_IN_PLACE : send_buffer, n, type.handle, recv_buffer, counts, displs, type.handle,
                     comm);
      for (int r = 0; r < p; ++r) expect(recv_buffer, &type, displs[r], counts[r], r, 0, "allgatherv");
  }
  expect_untouched(all, "unequal parts");
  done_with(&type);
}

static void exchange(int in_place, int nonblocking) {
  Type type = some_type();
  MPI_Request request = MPI_REQUEST_NULL;
  static int pairs[MAX_RANKS][MAX_RANKS];
  int sends[MAX_RANKS], receives[MAX_RANKS], send_displs[MAX_RANKS], displs[MAX_RANKS];
  MPI_Datatype types[MAX_RANKS];
  int send_bytes[MAX_RANKS], bytes[MAX_RANKS];
  const int sparse = number(3) == 0, each = number(3) == 0, most = number(2) ? 100 : MAX_COUNT / 8;
  for (int from = 0; from < p; ++from)
    for (int to = 0; to < p; ++to) pairs[from][to] = sparse && number(4) ? 0 : some(most);
  for (int r = 0; r < p; ++r) {
    if (in_place && r != rank) {
      const int low = r < rank ? r : rank, high = r < rank ? rank : r;
      pairs[r][rank] = pairs[rank][r] = pairs[low][high];
    }
    sends[r] = pairs[rank][r];
    receives[r] = pairs[r][rank];
    types[r] = type.handle;
  }
  lay_out(sends, send_displs, number(2), number(4) == 0);
  const int all = lay_out(receives, displs, number(2) * 3, number(4) == 0) * type.extent;
  for (int r = 0; r < p; ++r) {
    if (in_place)
      put(recv_buffer, &type, displs[r], sends[r], rank, r);
    else
      put(send_buffer, &type, send_displs[r], sends[r], rank, r);
    send_bytes[r] = send_displs[r] * type.extent * (int)sizeof(int);
    bytes[r] = displs[r] * type.extent * (int)sizeof(int);
  }
  const void* const from = in_place ? MPI_IN_PLACE : send_buffer;
  if (each)
    MPI_Alltoallw(from, sends, send_bytes, types, recv_buffer, receives, bytes, types, comm);
  else if (nonblocking)
    MPI_Ialltoallv(from, sends, send_displs, type.handle, recv_buffer, receives, displs, type.handle, comm, &request);
  else
    MPI_Alltoallv(from, sends, send_displs, type.handle, recv_buffer, receives, displs, type.handle, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < p; ++r) expect(recv_buffer, &type, displs[r], receives[r], r, rank, "alltoallv or alltoallw");
  expect_untouched(all, "alltoallv or alltoallw");
  done_with(&type);
}

// Several operations of one kind and different sizes under way at once.
static void together(void) {
  enum { MANY = 5 };
  static int in[MANY][MAX_COUNT], out[MANY][MAX_COUNT];
  MPI_Request requests[MANY];
  int counts[MANY];
  for (int k = 0; k < MANY; ++k) {
    counts[k] = 1 + some(MAX_COUNT - 1);
    for (int i = 0; i < counts[k]; ++i) in[k][i] = value(rank, k, i);
    MPI_Iallreduce(in[k], out[k], counts[k], MPI_INT, MPI_SUM, comm, &requests[k]);
  }
  MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
  for (int k = 0; k < MANY; ++k)
    for (int i = 0; i < counts[k]; ++i)
      if (out[k][i] != combined(p - 1, k, i, 0)) {
        fail("round %d, operation %d of %d under way: %d is %d", round_number, k, MANY, i, out[k][i]);
        break;
      }
}

static void one_call(void) {
  const int root = number(p), in_place = number(2), nonblocking = number(4) == 0;
  ++round_number;
  clear();
  switch (number(8)) {
    case 0: bcast(root); break;
    case 1: gather_or_scatter(root, in_place); break;
    case 2: to_all(in_place, nonblocking); break;
    case 3: reduction(root, in_place, nonblocking); break;
    case 4: reduce_scatter(); break;
    case 5: unequal(root, in_place); break;
    case 6: exchange(in_place, nonblocking); break;
    default: together();
  }
}

// Memory that is asked for while it is counted.
static long allocations;
static int counting;
void* malloc(size_t bytes) {
  static void* (*of_library)(size_t);
  if (!of_library) of_library = (void* (*)(size_t))dlsym(RTLD_NEXT, "malloc");
  if (counting) ++allocations;
  return of_library(bytes);
}

// A blocking call of `count` elements a part; unequal parts are 1 to 50, with gaps or not.
enum { KINDS = 13 };
static void call_of(int kind, int count) {
  int counts[MAX_RANKS], displs[MAX_RANKS];
  for (int r = 0; r < p; ++r) counts[r] = kind < 12 ? (count + 3 * r) % 50 + 1 : (count + rank + r) % 50 + 1;
  lay_out(counts, displs, count % 2, 0);
  const int n = counts[rank], root = count / 4 % 2;
  switch (kind) {
    case 0: MPI_Bcast(recv_buffer, count, MPI_INT, root, comm); break;
    case 1: MPI_Reduce(send_buffer, recv_buffer, count, MPI_INT, MPI_SUM, root, comm); break;
    case 2: MPI_Allreduce(send_buffer, recv_buffer, count, MPI_INT, MPI_SUM, comm); break;
    case 3: MPI_Allreduce(MPI_IN_PLACE, recv_buffer, count, MPI_INT, MPI_MAX, comm); break;
    case 4: MPI_Gather(send_buffer, count, MPI_INT, recv_buffer, count, MPI_INT, root, comm); break;
    case 5: MPI_Scatter(send_buffer, count, MPI_INT, recv_buffer, count, MPI_INT, root, comm); break;
    case 6: MPI_Allgather(send_buffer, count, MPI_INT, recv_buffer, count, MPI_INT, comm); break;
    case 7: MPI_Alltoall(send_buffer, count, MPI_INT, recv_buffer, count, MPI_INT, comm); break;
    case 8: MPI_Reduce_scatter_block(send_buffer, recv_buffer, count, MPI_INT, MPI_SUM, comm); break;
    case 9: MPI_Reduce_scatter(send_buffer, recv_buffer, counts, MPI_INT, MPI_SUM, comm); break;
    case 10: MPI_Allgatherv(send_buffer, n, MPI_INT, recv_buffer, counts, displs, MPI_INT, comm); break;
    case 11: MPI_Gatherv(send_buffer, n, MPI_INT, recv_buffer, counts, displs, MPI_INT, root, comm); break;
    default: MPI_Alltoallv(send_buffer, counts, displs, MPI_INT, recv_buffer, counts, displs, MPI_INT, comm);
  }
}

// The host may need some for itself, now and then: fewer than there are calls.
static void fresh(void) {
  for (int i = 0; i < 400; ++i) call_of(i % KINDS, 320);  // queues grow to what they need
  for (int kind = 0; kind < KINDS; ++kind) {
    for (int count = 1; count < 20; ++count) call_of(kind, count * 17);
    allocations = 0;
    counting = 1;
    for (int count = 1; count < 300; ++count) call_of(kind, count);
    counting = 0;
    if (allocations >= 30) fail("kind %d: %ld allocations in 299 calls of other sizes", kind, allocations);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  if (p > MAX_RANKS) fail("at most %d ranks", MAX_RANKS);
  if (argc > 1 && strcmp(argv[1], "fresh") == 0) {
    fresh();
  } else {
    const int calls = argc > 1 ? atoi(argv[1]) : 400;
    for (int i = 0; i < calls && failures == 0; ++i) one_call();
  }
  MPI_Comm_free(&comm);
  return finish();
}
