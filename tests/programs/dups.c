// Communicators are made out of others in every way, used for the first time in every order, and freed in another: in each
// collectives go to the right ranks.
#include <pthread.h>

#include "check.h"

enum { many = 24 };
static int rank, p;

static void use(MPI_Comm comm) {
  int own, size, sum = 0;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != size * (size - 1) / 2) fail("%d ranks, sum of ranks %d", size, sum);
}

// A call of every kind, for the plans that later communicators inherit.
static void use_well(MPI_Comm comm, int salt) {
  int size, own;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &own);
  static double data[3000], all[8 * 3000];
  for (int count = 1; count <= 3000; count = count * 7 + 1) {
    for (int i = 0; i < count; ++i) data[i] = salt + own + i;
    MPI_Allgather(data, count, MPI_DOUBLE, all, count, MPI_DOUBLE, comm);
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < count; ++i)
        if (all[r * count + i] != salt + r + i) fail("%d doubles of rank %d", count, r);
    MPI_Bcast(data, count, MPI_DOUBLE, size - 1, comm);
    if (data[count - 1] != salt + size - 1 + count - 1) fail("bcast of %d", count);
  }
}

static void one_after_the_other(void) {
  for (int i = 0; i < 200; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i % 10 == 0) use_well(comm, i);
    use(comm);
    MPI_Comm_free(&comm);
  }
}

// Each rank starts with another one; all are under way at once; freed while they are.
static void in_any_order(int freed_early) {
  MPI_Comm comms[many];
  MPI_Request requests[many];
  int one[many], sums[many];
  for (int i = 0; i < many; ++i) MPI_Comm_dup(i % 2 ? comms[i - 1] : MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < many; ++i) {
    const int at = (i * 5 + rank * 7) % many;
    one[at] = at, sums[at] = -1;
    MPI_Iallreduce(&one[at], &sums[at], 1, MPI_INT, MPI_SUM, comms[at], &requests[at]);
  }
  if (freed_early)
    for (int i = many; i-- > 0;) MPI_Comm_free(&comms[i]);
  MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < many; ++i)
    if (sums[i] != i * p) fail("sum %d of communicator %d", sums[i], i);
  if (freed_early) return;
  for (int i = 0; i < many; ++i) use(comms[i]);
  for (int i = 0; i < many; ++i) MPI_Comm_free(&comms[(i * 7 + 3) % many]);
}

static void descendants(void) {
  for (int round = 0; round < 20; ++round) {
    MPI_Comm dup, cart, row, again, reversed, none;
    MPI_Group group;
    int sizes[2] = {0, 0}, periods[2] = {0, 1}, keep[2] = {0, 1};
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Dims_create(p, 2, sizes);
    MPI_Cart_create(dup, 2, sizes, periods, round % 2, &cart);
    MPI_Cart_sub(cart, keep, &row);
    MPI_Comm_dup(row, &again);
    MPI_Comm_split(again, 0, -rank, &reversed);
    MPI_Comm_split(dup, rank ? 1 : MPI_UNDEFINED, 0, &none);
    if (none != MPI_COMM_NULL) use(none), MPI_Comm_free(&none);
    MPI_Comm_group(dup, &group);
    MPI_Comm_free(&dup);
    use(again);
    use(reversed);
    use(row);
    use(cart);
    MPI_Comm_free(&cart);
    use_well(reversed, round);
    MPI_Comm other;
    MPI_Comm_create_group(MPI_COMM_WORLD, group, round, &other);
    use(other);
    MPI_Comm_free(&other);
    MPI_Comm_create(MPI_COMM_WORLD, group, &other);
    use(other);
    MPI_Request request;
    MPI_Comm idup;
    MPI_Comm_idup(other, &idup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(idup);
    MPI_Comm_free(&idup);
    MPI_Comm_free(&other);
    MPI_Group_free(&group);
    MPI_Comm_free(&row);
    MPI_Comm_free(&again);
    use(reversed);
    MPI_Comm_free(&reversed);
  }
}

static void multiply(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)inout)[i] *= ((int*)in)[i];
}

// Each communicator makes the calls of the one before, as its first ones: what is known of these must hold no longer than
// their operations and datatypes do, and no root or count may be another's.
static void inherited(void) {
  for (int i = 0; i < 60; ++i) {
    MPI_Comm comm;
    MPI_Op op;
    MPI_Datatype type;
    MPI_Request request;
    const int length = 1 + i % 3, root = i / 2 % p;
    int two = 2, result = 0, data[6] = {-1, -1, -1, -1, -1, -1};
    if (i % 4 < 2)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
      MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    MPI_Op_create(i % 2 ? multiply : add_ints, 1, &op);
    MPI_Type_contiguous(length, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (i % 5 == 4) {
      MPI_Iallreduce(&two, &result, 1, MPI_INT, op, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Allreduce(&two, &result, 1, MPI_INT, op, comm);
    }
    if (result != (i % 2 ? 1 << p : 2 * p)) fail("%d of communicator %d", result, i);
    if (rank == root)
      for (int k = 0; k < length; ++k) data[k] = i + k;
    MPI_Bcast(data, 1, type, root, comm);
    for (int k = 0; k < 6; ++k)
      if (data[k] != (k < length ? i + k : -1)) fail("element %d of communicator %d is %d", k, i, data[k]);
    if (i % 7 == 6) {  // refused on every rank, before anything else runs on it
      MPI_Comm refused;
      MPI_Comm_dup(comm, &refused);
      MPI_Comm_set_errhandler(refused, MPI_ERRORS_RETURN);
      if (MPI_Bcast(data, -1, MPI_INT, 0, refused) == MPI_SUCCESS) fail("a negative count is no error");
      use(refused);
      MPI_Comm_free(&refused);
    }
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
    MPI_Type_free(&type);
  }
}

// More groups than a process keeps anything of.
static void many_groups(int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Comm part, dup;
    MPI_Comm_split(MPI_COMM_WORLD, i % 3 == rank, (i / 3 % 5 * (rank + 1)) % p, &part);
    MPI_Comm_dup(part, &dup);
    use(dup);
    MPI_Comm_free(&dup);
    use(part);
    MPI_Comm_free(&part);
  }
}

static void* in_thread(void* parent) {
  for (int i = 0; i < 100; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(*(MPI_Comm*)parent, &comm);
    use(comm);
    MPI_Comm_free(&comm);
  }
  return NULL;
}

static void in_threads(void) {
  MPI_Comm parents[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, in_thread, &parents[i]);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&parents[i]);
}

static long kilobytes(void) {
  char line[200];
  long pss = 0;
  FILE* f = fopen("/proc/self/smaps_rollup", "r");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "Pss: %ld", &pss);
  if (f) fclose(f);
  return pss;
}

// Many at once, all in use.
static void crowd(int n, long max_kilobytes) {
  MPI_Comm* comms = malloc(n * sizeof *comms);
  MPI_Request* requests = malloc(n * sizeof *requests);
  int *ones = malloc(n * sizeof *ones), *sums = malloc(n * sizeof *sums);
  for (int i = 0; i < n; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  const long before = kilobytes();
  for (int i = 0; i < n; ++i) {
    ones[i] = 1;
    MPI_Iallreduce(&ones[i], &sums[i], 1, MPI_INT, MPI_SUM, comms[i], &requests[i]);
  }
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  const long grown = kilobytes() - before;
  for (int i = 0; i < n; ++i) {
    if (sums[i] != p) fail("sum %d of communicator %d", sums[i], i);
    MPI_Comm_free(&comms[i]);
  }
  if (max_kilobytes && grown / n > max_kilobytes) fail("%ld KiB for each communicator", grown / n);
  free(comms), free(requests), free(ones), free(sums);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  if (p > 8) MPI_Abort(MPI_COMM_WORLD, 1);
  const int n = argc > 1 ? atoi(argv[1]) : 100;
  one_after_the_other();
  in_any_order(0);
  in_any_order(1);
  descendants();
  inherited();
  many_groups(n);
  if (provided == MPI_THREAD_MULTIPLE) in_threads();
  crowd(n, argc > 2 ? atol(argv[2]) : 0);
  crowd(n, 0);
  in_any_order(0);
  return finish();
}
