// Blocking calls that repeat earlier ones except for one argument, an element of an array, or what a handle stands for.
#include "check.h"

static int rank, p;
static MPI_Comm comm;

// Every rank that gets this broadcast of two integers from `root` sees its numbers.
static void broadcast(int* data, MPI_Datatype type, int second, int root) {
  memset(data, 0, 4 * sizeof(int));
  if (rank == root) data[0] = root + 1, data[second] = root + 2;
  MPI_Bcast(data, 1, type, root, comm);
  if (data[0] != root + 1 || data[second] != root + 2 || data[3 - second] != 0)
    fail("bcast from %d: %d %d %d", root, data[0], data[1], data[2]);
}

// Types with and without gaps, freed each time: a handle comes back for another type.
static void datatypes(void) {
  int data[2][4];
  for (int i = 0; i < 40; ++i) {
    const int second = 1 + i / 2 % 2;
    MPI_Datatype type;
    MPI_Type_vector(2, 1, second, MPI_INT, &type);
    if (second == 1) {
      MPI_Type_free(&type);
      MPI_Type_contiguous(2, MPI_INT, &type);
    }
    MPI_Type_commit(&type);
    for (int again = 0; again < 3; ++again) broadcast(data[again % 2], type, second, (i + again / 2) % p);
    MPI_Type_free(&type);
  }
}

static void largest(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    if (((int*)inout)[i] < ((int*)in)[i]) ((int*)inout)[i] = ((int*)in)[i];
}

static void reductions(void) {
  const int sum = p * (p + 1) / 2;
  for (int i = 0; i < 40; ++i) {
    const int in_place = i / 3 % 2, user = i / 6 % 2, max = i % 2;
    int mine = rank + 1, result = in_place ? mine : -1;
    MPI_Op op = max ? MPI_MAX : MPI_SUM;
    if (user) MPI_Op_create(max ? largest : add_ints, 1, &op);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : &mine, &result, 1, MPI_INT, op, comm);
    if (result != (max ? p : sum)) fail("allreduce %d: %d", i, result);
    const int root = i / 4 % p;
    double halves = mine / 2.0, all = -1;
    MPI_Reduce(&halves, rank == root ? &all : NULL, 1, MPI_DOUBLE, max ? MPI_MAX : MPI_SUM, root, comm);
    if (rank == root && all != (max ? p : sum) / 2.0) fail("reduce %d: %g", i, all);
    if (user) MPI_Op_free(&op);
  }
}

// Calls that are not kept, as their data have gaps, come to the places of one that is, which is then made with another count.
static void displaced(void) {
  enum { many = 60 };
  MPI_Datatype types[many];
  MPI_Op op;
  MPI_Op_create(add_ints, 1, &op);  // before any other one is freed
  for (int i = 0; i < many; ++i) {
    MPI_Type_vector(2, 1, 2, MPI_INT, &types[i]);
    MPI_Type_commit(&types[i]);
  }
  for (int count = 1; count <= 3; ++count) {
    const int mine[3] = {rank, rank, rank};
    int sums[3] = {-1, -1, -1};
    MPI_Scan(mine, sums, count, MPI_INT, op, comm);
    for (int i = 0; i < 3; ++i)
      if (sums[i] != (i < count ? rank * (rank + 1) / 2 : -1)) fail("scan of %d: %d at %d", count, sums[i], i);
    int data[4];
    for (int i = 0; i < many; ++i) broadcast(data, types[i], 2, i % p);
  }
  for (int i = 0; i < many; ++i) MPI_Type_free(&types[i]);
  MPI_Op_free(&op);
}

// counts[r]: what rank r gets of `all`, whose numbers are their own places. Arrays that a rank need not read are null.
static void parts(const int* counts, const int* displs, const int* all, int total) {
  int mine[64], back[64];
  const int n = counts[rank];
  memset(mine, -1, sizeof mine);
  memset(back, -1, sizeof back);
  const int* c = rank == 0 ? counts : NULL;
  const int* d = rank == 0 ? displs : NULL;
  MPI_Scatterv(all, c, d, MPI_INT, mine, n, MPI_INT, 0, comm);
  for (int i = 0; i < n; ++i)
    if (mine[i] != displs[rank] + i) fail("scatterv of %d: %d", n, mine[i]);
  MPI_Gatherv(mine, n, MPI_INT, back, c, d, MPI_INT, 0, comm);
  if (rank != 0) MPI_Allgatherv(mine, n, MPI_INT, back, counts, displs, MPI_INT, comm);
  if (rank == 0) MPI_Allgatherv(mine, n, MPI_INT, mine + 32, counts, displs, MPI_INT, comm);
  for (int r = 0; r < p; ++r)
    for (int i = displs[r]; i < displs[r] + counts[r]; ++i)
      if (back[i] != i || (rank == 0 && mine[32 + i] != i)) fail("gathered at %d: %d, %d", i, back[i], mine[32 + i]);
  int scattered[64] = {0};
  MPI_Reduce_scatter(all, scattered, counts, MPI_INT, MPI_SUM, comm);
  for (int i = 0, before = 0; i < n; ++i) {
    if (i == 0)
      for (int r = 0; r < rank; ++r) before += counts[r];
    if (scattered[i] != p * (before + i)) fail("reduce_scatter %d of %d: %d", i, total, scattered[i]);
  }
}

// To rank r its number and mine, as often as counts say.
static void exchange(int* sends, int* receives) {
  int out[64], in[64], send_displs[8], receive_displs[8], sent = 0, received = 0;
  for (int r = 0; r < p; ++r) {
    send_displs[r] = sent, receive_displs[r] = received;
    for (int i = 0; i < sends[r]; ++i) out[sent++] = 100 * rank + r;
    received += receives[r];
  }
  for (int again = 0; again < 2; ++again) {
    memset(in, 0, sizeof in);
    MPI_Alltoallv(out, sends, send_displs, MPI_INT, in, receives, receive_displs, MPI_INT, comm);
    for (int r = 0; r < p; ++r)
      for (int i = 0; i < receives[r]; ++i)
        if (in[receive_displs[r] + i] != 100 * r + rank) fail("alltoallv from %d: %d", r, in[receive_displs[r] + i]);
  }
}

static void arrays(void) {
  int all[64], counts[8], displs[8], sends[8], receives[8];
  for (int i = 0; i < 64; ++i) all[i] = i;
  for (int i = 0; i < 24; ++i) {
    int total = 0;
    for (int r = 0; r < p; ++r) {
      counts[r] = 1 + (i / 2 + r) % 3;
      displs[r] = total + (i / 6 % 2) * r;  // with gaps or without
      total += counts[r];
      sends[r] = (i / 3 + rank + r) % 2;
      receives[r] = (i / 3 + r + rank) % 2;
    }
    parts(counts, displs, all, total);
    exchange(sends, receives);
  }
}

// What was right once is no excuse for what is not.
static void errors(void) {
  int data = 0;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 3; ++i) {
    MPI_Bcast(&data, 1, MPI_INT, 0, comm);
    if (MPI_Bcast(&data, 1, MPI_INT, p, comm) == MPI_SUCCESS) fail("root %d was taken", p);
    if (MPI_Bcast(&data, -1, MPI_INT, 0, comm) == MPI_SUCCESS) fail("count -1 was taken");
    if (MPI_Bcast(&data, 1, MPI_DATATYPE_NULL, 0, comm) == MPI_SUCCESS) fail("the null datatype was taken");
    int all[8];
    if (MPI_Allgather(&data, 1, MPI_INT, all, 1, MPI_INT, comm) != MPI_SUCCESS) fail("a good call failed");
  }
}

// From here on another algorithm runs.
static void choose(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "omnes_allreduce", "ring");
  MPI_Comm_set_info(comm, info);
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  displaced();
  datatypes();
  reductions();
  arrays();
  errors();
  choose();
  reductions();
  MPI_Comm_free(&comm);
  return finish();
}
