// Communicators of sessions: used before MPI_Init by some ranks and after it by others; without it; and beside MPI_COMM_WORLD.
#include "check.h"

enum { comms = 4, count = 200 };

static int failed(int got, int wanted, const char* what) {
  if (got != wanted && ++failures <= 5) fprintf(stderr, "FAIL: %s: %d, not %d\n", what, got, wanted);
  return got != wanted;
}

static MPI_Session begin(void) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  return session;
}

// Of the ranks of a process set from `first` on, each `step`-th one; null: this one is none of them.
static MPI_Comm comm_of(MPI_Session session, const char* set, int first, int step, const char* tag) {
  MPI_Group all, some;
  MPI_Comm made = MPI_COMM_NULL;
  int p, rank;
  MPI_Group_from_session_pset(session, set, &all);
  MPI_Group_size(all, &p);
  int range[1][3] = {{first, p - 1, step}};
  MPI_Group_range_incl(all, 1, range, &some);
  MPI_Group_rank(some, &rank);
  if (rank != MPI_UNDEFINED) MPI_Comm_create_from_group(some, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  return made;
}

static void use(MPI_Comm comm, const char* what) {
  if (comm == MPI_COMM_NULL) return;
  int p, rank, sum = -1;
  MPI_Comm_size(comm, &p);
  MPI_Comm_rank(comm, &rank);
  int* mine = calloc((size_t)p * count, sizeof(int));
  int* all = calloc((size_t)p * count, sizeof(int));
  for (int call = 0; call < 6; ++call) {
    MPI_Request request;
    for (int i = 0; i < p * count; ++i) mine[i] = 100 * rank + i / count + call;
    MPI_Alltoall(mine, count, MPI_INT, all, count, MPI_INT, comm);
    for (int r = 0; r < p; ++r) failed(all[r * count + 5], 100 * r + rank + call, what);
    MPI_Iallreduce(mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    failed(sum, 100 * (p * (p - 1) / 2) + p * call, what);
    MPI_Bcast(mine, count, MPI_INT, call % p, comm);
    failed(mine[count - 1], 100 * (call % p) + call, what);
  }
  free(mine);
  free(all);
}

static void use_children(MPI_Comm comm) {
  MPI_Comm made;
  int rank;
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_dup(comm, &made);
  use(made, "a duplicate");
  MPI_Comm_free(&made);
  MPI_Comm_split(comm, rank % 2, -rank, &made);
  use(made, "a part");
  MPI_Comm_free(&made);
}

static void release(MPI_Comm* comm) {
  if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

// Two at once, of which the first one ends earlier; then others.
static void sessions(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Session first = begin(), second = begin();
    MPI_Comm world = comm_of(first, "mpi://WORLD", 0, 1, "omnes.world"),
             self = comm_of(first, "mpi://SELF", 0, 1, "omnes.self");
    MPI_Comm other = comm_of(second, "mpi://WORLD", 0, 1, "omnes.other"),
             even = comm_of(second, "mpi://WORLD", 0, 2, "omnes.even");
    use(world, "mpi://WORLD");
    use(other, "mpi://WORLD of another session");
    use(even, "each other rank");
    use(self, "mpi://SELF");
    use_children(world);
    release(&world);
    release(&self);
    MPI_Session_finalize(&first);
    use(other, "mpi://WORLD of another session, later");
    use_children(even);
    release(&even);
    release(&other);
    MPI_Session_finalize(&second);
  }
}

// A persistent operation of a session's communicator is waited for while one of MPI_COMM_WORLD is under way.
static void wait_beside_another(void) {
#if HAS_PERSISTENT
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "mpi://WORLD", 0, 1, "omnes.beside");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request barrier, requests[2];
  MPI_Status statuses[2];
  int rank, p, sum[2], mine[2] = {1, 2};
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &p);
  for (int i = 0; i < 2; ++i)
    MPI_Allreduce_init(&mine[i], &sum[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]);
  if (rank > 0) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  for (int round = 0; round < 3; ++round) {
    sum[0] = sum[1] = 0;
    MPI_Startall(2, requests);
    for (int i = 0; i < 2; ++i) statuses[i].MPI_ERROR = 77;
    failed(MPI_Waitall(2, requests, round ? statuses : MPI_STATUSES_IGNORE), MPI_SUCCESS, "MPI_Waitall");
    for (int i = 0; i < 2; ++i) failed(sum[i], p * mine[i], "a sum");
  }
  if (rank == 0) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
#endif
}

// Some ranks call MPI_Init earlier than others.
static void mixed(void) {
  MPI_Session session = begin();
  MPI_Group group;
  MPI_Comm comm[comms];
  MPI_Request requests[comms];
  int rank, p, one = 1, sums[comms];
  comm[0] = comm_of(session, "mpi://WORLD", 0, 1, "omnes");
  MPI_Comm_rank(comm[0], &rank);
  MPI_Comm_size(comm[0], &p);
  MPI_Comm_dup(comm[0], &comm[1]);
  MPI_Comm_split(comm[1], 0, 0, &comm[2]);
  MPI_Comm_group(comm[2], &group);
  MPI_Comm_create(comm[2], group, &comm[3]);
  if (rank % 2) MPI_Init(NULL, NULL);
  for (int i = 0; i < comms; ++i) MPI_Iallreduce(&one, &sums[i], 1, MPI_INT, MPI_SUM, comm[i], &requests[i]);
  if (rank % 2 == 0) MPI_Init(NULL, NULL);
  MPI_Waitall(comms, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < comms; ++i) {
    failed(sums[i], p, "a sum");
    MPI_Comm_free(&comm[i]);
  }
  MPI_Group_free(&group);
  const int code = finish();
  MPI_Session_finalize(&session);
  exit(code);
}

// Usage: sessions              (some ranks call MPI_Init while they use communicators of a session)
//        sessions alone        (nobody does)
//        sessions beside       (all have done so before)
//        sessions longer       (one outlives MPI_Finalize)
int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "alone")) {
    int rank, all = 0;
    // Where one begins after the last one has ended, Open MPI 5.0.11 crashes by itself, and MPICH 5.0.2 hangs now and then.
    MPI_Session last = begin();
    sessions(2);
    MPI_Comm world = comm_of(last, "mpi://WORLD", 0, 1, "omnes.last");
    MPI_Comm_rank(world, &rank);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, world);
    if (rank == 0 && all == 0) printf("OK\n");
    MPI_Comm_free(&world);
    MPI_Session_finalize(&last);
    return failures > 0;
  }
  if (!strcmp(how, "beside")) {
    MPI_Init(&argc, &argv);
    sessions(2);
    use(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    wait_beside_another();
    return finish();
  }
  if (!strcmp(how, "longer")) {
    MPI_Init(&argc, &argv);
    MPI_Session session = begin();
    MPI_Comm world = comm_of(session, "mpi://WORLD", 0, 1, "omnes");
    use(world, "before MPI_Finalize");
    int code = finish();
    use(world, "after MPI_Finalize");
    MPI_Comm_free(&world);
    MPI_Session_finalize(&session);
    return code || failures > 0;
  }
  mixed();
}
