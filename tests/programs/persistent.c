// Persistent collectives: many at once, started in another order on every rank, together with persistent messages, a
// thousand times, with contents that change, and freed when inactive.
#include "check.h"
#include "completions.h"

#if HAS_PERSISTENT

static int rank, p;

static int sum_of_ranks(void) { return p * (p - 1) / 2; }

enum { tasks = 24, elements = 200 };

// One persistent collective on a communicator of its own, so that ranks may start them in any order.
struct task {
  MPI_Comm comm;
  MPI_Request request;
  int own[elements], result[elements], *parts;
};

static struct task all[tasks];

static void make(struct task* t, int number) {
  MPI_Comm_dup(MPI_COMM_WORLD, &t->comm);
  t->parts = malloc(p * sizeof *t->parts);
  switch (number % 4) {
    case 0:
      MPI_Allreduce_init(t->own, t->result, elements, MPI_INT, MPI_SUM, t->comm, MPI_INFO_NULL, &t->request);
      break;
    case 1: MPI_Bcast_init(t->result, elements, MPI_INT, number % p, t->comm, MPI_INFO_NULL, &t->request); break;
    case 2: MPI_Allgather_init(t->own, 1, MPI_INT, t->parts, 1, MPI_INT, t->comm, MPI_INFO_NULL, &t->request); break;
    case 3:
      MPI_Alltoall_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t->parts, 1, MPI_INT, t->comm, MPI_INFO_NULL, &t->request);
      break;
  }
}

static void fill(struct task* t, int number, int round) {
  for (int i = 0; i < elements; ++i) {
    t->own[i] = rank + i + round;
    t->result[i] = number % 4 == 1 && rank == number % p ? i * round : -1;
  }
  for (int r = 0; r < p; ++r) t->parts[r] = rank * 100 + r + round;
}

static void check(const struct task* t, int number, int round) {
  for (int i = 0; i < elements && number % 4 < 2; ++i) {
    const int wanted = number % 4 == 0 ? sum_of_ranks() + p * (i + round) : i * round;
    if (t->result[i] != wanted) {
      fail("task %d, round %d: element %d is %d, not %d", number, round, i, t->result[i], wanted);
      return;
    }
  }
  for (int r = 0; r < p && number % 4 >= 2; ++r) {
    const int wanted = number % 4 == 2 ? r + round : r * 100 + rank + round;
    if (t->parts[r] != wanted) fail("task %d, round %d: part %d is %d, not %d", number, round, r, t->parts[r], wanted);
  }
}

// One by one in an order that differs from rank to rank, then all by Startall, together with messages round the ring.
static void many(void) {
  MPI_Request requests[tasks + 2];
  int to_right, from_left;
  for (int k = 0; k < tasks; ++k) make(&all[k], k);
  MPI_Send_init(&to_right, 1, MPI_INT, (rank + 1) % p, 1, MPI_COMM_WORLD, &requests[tasks]);
  MPI_Recv_init(&from_left, 1, MPI_INT, (rank + p - 1) % p, 1, MPI_COMM_WORLD, &requests[tasks + 1]);
  for (int round = 0; round < 20; ++round) {
    for (int k = 0; k < tasks; ++k) fill(&all[k], k, round);
    to_right = rank + round;
    // All by one call, in the order of the array: a rotated one on each rank.
    for (int k = 0; k < tasks; ++k) requests[k] = all[(k + rank + round) % tasks].request;
    if (round % 2) {
      MPI_Startall(tasks + 2, requests);
      MPI_Waitall(tasks + 2, requests, MPI_STATUSES_IGNORE);
    } else {
      for (int k = 0; k < tasks + 2; ++k) MPI_Start(&requests[k]);
      for (int k = tasks + 2; k-- > 0;) MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
    }
    for (int k = 0; k < tasks; ++k) {
      if (requests[k] == MPI_REQUEST_NULL) fail("a persistent request is gone");
      check(&all[k], k, round);
    }
    if (from_left != (rank + p - 1) % p + round) fail("round %d: message %d", round, from_left);
  }
  MPI_Request_free(&requests[tasks]);
  MPI_Request_free(&requests[tasks + 1]);
  for (int k = 0; k < tasks; ++k) {
    MPI_Request_free(&all[k].request);
    MPI_Comm_free(&all[k].comm);
    free(all[k].parts);
  }
}

// Requests of one communicator, made in the same order everywhere and started so; in between, blocking and nonblocking
// operations on it.
static void repeated(int rounds) {
  int own, sum, news, most;
  MPI_Request sums, bcast, maximum;
  MPI_Allreduce_init(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &sums);
  MPI_Bcast_init(&news, 1, MPI_INT, p - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &bcast);
  for (int i = 0; i < rounds; ++i) {
    own = rank + i;
    news = rank == p - 1 ? i : -1;
    MPI_Start(&sums);
    if (i % 3 == 0) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&bcast);
    if (i % 5 == 0) MPI_Iallreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &maximum);
    // Not by Testall: in MPICH 5.0.2 it reports an error while one of several persistent collectives is pending.
    for (int done = 0; !done && i % 2;) MPI_Test(&bcast, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&sums, MPI_STATUS_IGNORE);
    MPI_Wait(&bcast, MPI_STATUS_IGNORE);
    if (i % 5 == 0) {
      MPI_Wait(&maximum, MPI_STATUS_IGNORE);
      if (most != p - 1 + i) fail("round %d: maximum %d", i, most);
    }
    if (sum != sum_of_ranks() + p * i || news != i) fail("round %d: sum %d, news %d", i, sum, news);
  }
  MPI_Request_free(&sums);
  MPI_Request_free(&bcast);
}

// Persistent collectives among persistent messages, completed by every function there is.
static void complete_by_all_means(void) {
  enum { n = 6, rounds = 5 };
  MPI_Request requests[n];
  int own[elements] = {0}, sums[elements], news[elements], prefix, to_right, from_left;
  MPI_Allreduce_init(own, sums, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Recv_init(&from_left, 1, MPI_INT, (rank + p - 1) % p, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Bcast_init(news, elements, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
  MPI_Send_init(&to_right, 1, MPI_INT, (rank + 1) % p, 2, MPI_COMM_WORLD, &requests[4]);
  MPI_Scan_init(&rank, &prefix, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[5]);
  for (int round = 0; round < rounds * completion_count; ++round) {
    const char* how = names[round % completion_count];
    for (int i = 0; i < elements; ++i) {
      own[i] = rank + i + round;
      news[i] = rank == 0 ? i * round : -1;
      sums[i] = -1;
    }
    prefix = from_left = -1;
    to_right = rank + round;
    for (int i = 0; i < n; ++i) MPI_Start(&requests[i]);
    completions[round % completion_count](n, requests);
    for (int i = 0; i < n; ++i)
      if (requests[i] == MPI_REQUEST_NULL) fail("%s: persistent request %d is gone", how, i);
    for (int i = 0; i < elements; ++i)
      if (sums[i] != sum_of_ranks() + p * (i + round) || news[i] != i * round) {
        fail("%s: element %d: sum %d, news %d", how, i, sums[i], news[i]);
        break;
      }
    if (prefix != rank * (rank + 1) / 2) fail("%s: prefix %d", how, prefix);
    if (from_left != (rank + p - 1) % p + round) fail("%s: message %d", how, from_left);
  }
  for (int i = 0; i < n; ++i) MPI_Request_free(&requests[i]);
}

// Inactive requests complete at once, and may be freed without ever having been started.
static void inactive(void) {
  enum { n = 50 };
  MPI_Request requests[n];
  int own = rank, sums[n], done = 0;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < n; ++i)
    MPI_Allreduce_init(&own, &sums[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
  if (!done) fail("an inactive request is not done");
  MPI_Start(&requests[2]);
  MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
  if (sums[2] != sum_of_ranks()) fail("sum %d", sums[2]);
  for (int i = 0; i < n; ++i) {
    MPI_Request_free(&requests[i]);
    if (requests[i] != MPI_REQUEST_NULL) fail("a freed request is not null");
  }
  MPI_Comm_free(&comm);
}

// Usage: persistent [ROUNDS] (default 1000)
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  many();
  complete_by_all_means();
  repeated(argc > 1 ? atoi(argv[1]) : 1000);
  inactive();
  return finish();
}

#else

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return finish();
}

#endif
