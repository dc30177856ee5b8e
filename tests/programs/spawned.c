// Ranks that were started later, perhaps without omnes, share communicators with the first ones.
#include "check.h"

enum { count = 500, calls = 5, with_neighbors = 2 };

static void expect(int got, int wanted, const char* operation, const char* on) {
  if (got != wanted) fail("%s on %s: %d, not %d", operation, on, got, wanted);
}

static void use(MPI_Comm comm, const char* on) {
  int p, rank;
  MPI_Comm_size(comm, &p);
  MPI_Comm_rank(comm, &rank);
  int* mine = calloc((size_t)p * count, sizeof(int));
  int* all = calloc((size_t)p * count, sizeof(int));
  for (int call = 0; call < calls; ++call) {
    MPI_Request request;
    for (int i = 0; i < p * count; ++i) mine[i] = rank * 100 + i / count + call;
    MPI_Allreduce(mine, all, count, MPI_INT, MPI_SUM, comm);
    expect(all[count - 1], p * (p - 1) / 2 * 100 + p * call, "Allreduce", on);
    MPI_Iallreduce(mine, all, count, MPI_INT, MPI_MAX, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(all[0], (p - 1) * 100 + call, "Iallreduce", on);
    MPI_Alltoall(mine, count, MPI_INT, all, count, MPI_INT, comm);
    for (int r = 0; r < p; ++r) expect(all[r * count], r * 100 + rank + call, "Alltoall", on);
#if HAS_PERSISTENT
    MPI_Bcast_init(mine, p * count, MPI_INT, call % p, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
#else
    MPI_Bcast(mine, p * count, MPI_INT, call % p, comm);
#endif
    expect(mine[p * count - 1], call % p * 100 + p - 1 + call, "Bcast", on);
    MPI_Barrier(comm);
  }
  free(mine);
  free(all);
}

static void use_all_kinds(MPI_Comm merged) {
  MPI_Comm made;
  MPI_Group group;
  MPI_Request request;
  int rank;
  use(merged, "merged");
  MPI_Comm_rank(merged, &rank);
  MPI_Comm_dup(merged, &made);
  use(made, "dup");
  MPI_Comm_free(&made);
  MPI_Comm_split(merged, rank % 2, -rank, &made);
  use(made, "split");
  MPI_Comm_free(&made);
  MPI_Comm_idup(merged, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  use(made, "idup");
  MPI_Comm_free(&made);
  MPI_Comm_group(merged, &group);
  MPI_Comm_create_group(merged, group, 1, &made);
  use(made, "create_group");
  MPI_Comm_free(&made);
  MPI_Group_free(&group);
}

static void use_between(MPI_Comm inter) {
  int own, rank, others, sum = 0;
  MPI_Comm_size(inter, &own);
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_remote_size(inter, &others);
  int* all = calloc((size_t)others, sizeof(int));
  for (int call = 0; call < calls; ++call) {
    const int mine = rank + call;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    expect(sum, others * (others - 1) / 2 + others * call, "Allreduce", "between");
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int r = 0; r < others; ++r) expect(all[r], r + call, "Allgather", "between");
    MPI_Barrier(inter);
  }
  free(all);
}

// Two communicators of both groups at once, one of a duplicate. `own`: of this group; `later`: it was started by the other.
static void meet(MPI_Comm inter, MPI_Comm own, int later) {
  MPI_Comm merged, other, twin;
  MPI_Intercomm_merge(inter, later, &merged);
  MPI_Comm_dup(inter, &twin);
  MPI_Intercomm_merge(twin, !later, &other);
  use_all_kinds(merged);
  use(other, "the other way round");
  use(merged, "merged, again");
  MPI_Comm_free(&other);
  MPI_Comm_free(&twin);
  use(own, "one's own");
  MPI_Comm_free(&merged);
  use_between(inter);
}

static MPI_Comm start(const char* program, char** arguments, int processes, MPI_Comm comm) {
  MPI_Comm inter;
  MPI_Comm_spawn(program, arguments, processes, MPI_INFO_NULL, 0, comm, &inter, MPI_ERRCODES_IGNORE);
  return inter;
}

// Usage: spawned (starts copies of itself, one after the other, together, and through each other)
//        spawned without (starts one that lacks omnes)
//        spawned with LIBRARY (starts one into which that is loaded)
//        spawned started [1] (is one; 1: starts another one itself)
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm inter;
  MPI_Comm_get_parent(&inter);
  if (inter != MPI_COMM_NULL) {
    meet(inter, MPI_COMM_WORLD, 1);
    if (argc > 2) {
      char* more[] = {"started", NULL};
      MPI_Comm child = start(argv[0], more, 1, MPI_COMM_SELF);
      meet(child, MPI_COMM_SELF, 0);
      MPI_Comm_disconnect(&child);
    }
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return failures > 0;
  }
  if (argc > 1) {
    char preload[1000];
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", argc > 2 ? argv[2] : "");
    char* with[] = {preload, argv[0], "started", NULL};
    char* without[] = {"-u", "LD_PRELOAD", argv[0], "started", NULL};
    inter = start("/usr/bin/env", argc > 2 ? with : without, 1, MPI_COMM_WORLD);
    meet(inter, MPI_COMM_WORLD, 0);
    MPI_Comm_disconnect(&inter);
    return finish();
  }
  char* leaf[] = {"started", NULL};
  char* inner[] = {"started", "1", NULL};
  inter = start(argv[0], leaf, 1, MPI_COMM_WORLD);
  meet(inter, MPI_COMM_WORLD, 0);
  MPI_Comm_disconnect(&inter);
  char* commands[] = {argv[0], argv[0]};
  char** arguments[] = {leaf, inner};
  int one_each[] = {1, 1};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm_spawn_multiple(2, commands, arguments, one_each, infos, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  meet(inter, MPI_COMM_WORLD, 0);
  MPI_Comm_disconnect(&inter);
  return finish();
}
