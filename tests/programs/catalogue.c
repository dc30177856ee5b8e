// Any collective operation in any of its forms, for many sizes, roots, types and topologies, in place and not, against
// what must come out. Algorithms are forced one after the other, each on a communicator of its own.
#include <time.h>

#include "catalogue/neighborhoods.h"
#include "catalogue/operands.h"

static const struct operation operations[] = {
    {.name = "barrier", .start = start_barrier},
    {.name = "bcast", .start = start_bcast, .data = same, .rooted = from_root},
    {.name = "gather", .start = start_gather, .data = same, .rooted = to_root, .in_place = 1},
    {.name = "gatherv", .start = start_gatherv, .data = same, .rooted = to_root, .parts = unequal, .in_place = 1},
    {.name = "scatter", .start = start_scatter, .data = distinct, .rooted = from_root, .in_place = 1},
    {.name = "scatterv",
     .start = start_scatterv,
     .data = distinct,
     .rooted = from_root,
     .parts = unequal,
     .in_place = 1},
    {.name = "allgather", .start = start_allgather, .data = same, .in_place = 1},
    {.name = "allgatherv", .start = start_allgatherv, .data = same, .parts = unequal, .in_place = 1},
    {.name = "alltoall", .start = start_alltoall, .data = distinct, .in_place = 1},
    {.name = "alltoallv", .start = start_alltoallv, .data = distinct, .parts = unequal, .in_place = 1},
    {.name = "alltoallw", .start = start_alltoallw, .data = distinct, .parts = typed, .in_place = 1},
    {.name = "neighbor_allgather", .start = start_neighbor_allgather, .data = same, .neighbors = 1},
    {.name = "neighbor_allgatherv", .start = start_neighbor_allgatherv, .data = same, .parts = unequal, .neighbors = 1},
    {.name = "neighbor_alltoall", .start = start_neighbor_alltoall, .data = distinct, .neighbors = 1},
    {.name = "neighbor_alltoallv",
     .start = start_neighbor_alltoallv,
     .data = distinct,
     .parts = unequal,
     .neighbors = 1},
    {.name = "neighbor_alltoallw", .start = start_neighbor_alltoallw, .data = distinct, .parts = typed, .neighbors = 1},
    {.name = "reduce", .start = start_reduce, .data = combined, .rooted = to_root, .in_place = 1},
    {.name = "allreduce", .start = start_allreduce, .data = combined, .in_place = 1},
    {.name = "reduce_scatter_block",
     .start = start_reduce_scatter_block,
     .data = combined,
     .in_place = 1,
     .result = own_part},
    {.name = "reduce_scatter",
     .start = start_reduce_scatter,
     .data = combined,
     .parts = unequal,
     .in_place = 1,
     .result = own_part},
    {.name = "scan", .start = start_scan, .data = combined, .in_place = 1, .result = up_to_own},
    {.name = "exscan", .start = start_exscan, .data = combined, .in_place = 1, .result = before_own},
};
enum { operation_count = sizeof operations / sizeof *operations };

// Nobody may leave a barrier before everybody has come; all ranks read the same clock. They come one after the other.
static double entered;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static void come(struct trial* t) {
  (void)t;
  const double late = now() + (rank + turn) % p * 1e-3;
  while (now() < late) continue;
  entered = now();
}

static void synchronize(const struct operation* o, enum form form, MPI_Comm comm) {
  struct trial t = {.operation = o, .form = form, .call.comm = comm, .fill = come};
  run(&t);
  const double left = now();
  double last;
  MPI_Allreduce(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (left < last) fail("left a barrier %g s before the last rank came", last - left);
}

// All roots of few ranks, three of many; one and fewer layouts for a long message.
static void try_size(const struct operation* o, enum form form, MPI_Comm comm, const struct neighborhood* around, int n,
                     int is_long) {
  for (int root = is_long ? p - 1 : 0; root < p; ++root) {
    if (p > 4 && root != 0 && root != p / 2 && root != p - 1) continue;
    for (int in_place = 0; in_place <= o->in_place; ++in_place)
      if (o->data == combined)
        for (kind = kinds; kind < kinds + kind_count; ++kind) combine(o, form, comm, n, root, in_place);
      else
        for (int k = 0; k < (is_long ? 2 : 4); ++k) move(o, form, comm, around, n, root, k % 2, k / 2, in_place);
    if (o->rooted == nobody) return;
  }
}

static void try_sizes(const struct operation* o, enum form form, MPI_Comm comm, const struct neighborhood* around) {
  const int short_ones[] = {0, 1, 7, 1000}, long_one = 70000;
  const int is_bcast = o->rooted == from_root && o->data == same;
  const int has_parts = o->data == combined ? o->result == own_part : !is_bcast;
  for (int i = 0; i < 4; ++i) try_size(o, form, comm, around, short_ones[i], 0);
  try_size(o, form, comm, around, has_parts ? long_one / p : long_one, 1);
}

static void force(MPI_Comm comm, const struct operation* o, const char* choice) {
  char key[64];
  MPI_Info info;
  if (!choice) return;
  snprintf(key, sizeof key, "omnes_%s", o->name);
  MPI_Info_create(&info);
  MPI_Info_set(info, key, choice);
  MPI_Comm_set_info(comm, info);
  MPI_Info_free(&info);
}

// A choice of NULL leaves it to the library.
static void try_operation(const struct operation* o, enum form form, const char* choice) {
  struct neighborhood around;
  MPI_Comm comm;
  for (int i = 0; i < (o->neighbors ? topology_count : 1); ++i) {
    if (o->neighbors) {
      comm = topologies[i](MPI_COMM_WORLD, &around);
    } else {
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      complete_graph(&around);
    }
    force(comm, o, choice);
    if (o->data == nothing)
      for (int k = 0; k < 5; ++k) synchronize(o, form, comm);
    else
      try_sizes(o, form, comm, &around);
    MPI_Comm_free(&comm);
  }
}

// Usage: catalogue [FORM|all [OPERATION|all [CHOICE...]]]; a choice is what OMNES_BCAST and its like accept.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  if (p > max_ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  open_device(rank);
  make_layouts();
  make_kinds();
  const char* wanted_form = argc > 1 ? argv[1] : "all";
  const char* wanted = argc > 2 ? argv[2] : "all";
  int tried = 0;
  for (enum form form = blocking; form <= (HAS_PERSISTENT ? persistent : nonblocking); ++form)
    for (const struct operation* o = operations; o < operations + operation_count; ++o) {
      if (strcmp(wanted_form, "all") != 0 && strcmp(wanted_form, forms[form]) != 0) continue;
      if (strcmp(wanted, "all") != 0 && strcmp(wanted, o->name) != 0) continue;
      ++tried;
      if (argc <= 3) try_operation(o, form, NULL);
      for (int i = 3; i < argc; ++i) try_operation(o, form, argv[i]);
    }
  if (device.allocate && device.copies() == 0) fail("nothing was copied to or from the device");
  if (tried == 0) fail("nothing to try: %s %s", wanted_form, wanted);
  return finish();
}
