// Nonblocking collectives among all that a program does meanwhile: completed by every function there is, hundreds
// outstanding, handles freed, ranks late or inside other calls, other threads at work.
#include <pthread.h>

#include "check.h"
#include "completions.h"

static int rank, p, threaded;

static int sum_of_ranks(void) { return p * (p - 1) / 2; }

// Five collectives of different kinds and a message round the ring, all at once.
enum { members = 7, elements = 3000 };

struct batch {
  MPI_Request requests[members];
  int number;  // makes contents differ
  int own[elements], sums[elements], news[elements], prefix, from_left, to_right, *parts;
};

static void start(struct batch* b, MPI_Comm comm, int number) {
  const int right = (rank + 1) % p, left = (rank + p - 1) % p, root = number % p;
  b->number = b->to_right = number;
  b->from_left = b->prefix = -1;
  b->parts = malloc(p * sizeof *b->parts);
  for (int i = 0; i < elements; ++i) {
    b->own[i] = rank + i + number;
    b->sums[i] = -1;
    b->news[i] = rank == root ? number * i : -1;
  }
  for (int r = 0; r < p; ++r) b->parts[r] = rank * 100 + r + number;
  MPI_Irecv(&b->from_left, 1, MPI_INT, left, number, comm, &b->requests[0]);
  MPI_Iallreduce(b->own, b->sums, elements, MPI_INT, MPI_SUM, comm, &b->requests[1]);
  MPI_Ibcast(b->news, elements, MPI_INT, root, comm, &b->requests[2]);
  MPI_Isend(&b->to_right, 1, MPI_INT, right, number, comm, &b->requests[3]);
  MPI_Ibarrier(comm, &b->requests[4]);
  MPI_Iscan(&rank, &b->prefix, 1, MPI_INT, MPI_SUM, comm, &b->requests[5]);
  MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b->parts, 1, MPI_INT, comm, &b->requests[6]);
}

static void check(struct batch* b, const char* how) {
  for (int i = 0; i < members; ++i)
    if (b->requests[i] != MPI_REQUEST_NULL) fail("%s left request %d", how, i);
  for (int i = 0; i < elements; ++i) {
    const int sum = sum_of_ranks() + p * (i + b->number);
    if (b->sums[i] != sum) {
      fail("%s: sum %d is %d, not %d", how, i, b->sums[i], sum);
      return;
    }
    if (b->news[i] != b->number * i) {
      fail("%s: element %d of the bcast is %d", how, i, b->news[i]);
      return;
    }
  }
  for (int r = 0; r < p; ++r)
    if (b->parts[r] != r * 100 + rank + b->number) fail("%s: part %d is %d", how, r, b->parts[r]);
  if (b->prefix != rank * (rank + 1) / 2) fail("%s: prefix %d", how, b->prefix);
  if (b->from_left != b->number) fail("%s: message %d", how, b->from_left);
  free(b->parts);
}

static void complete_by_all_means(void) {
  static struct batch b;
  for (int i = 0; i < 2 * completion_count; ++i) {
    // Ranks need not complete alike.
    const int how = i < completion_count ? i : (i + rank) % completion_count;
    start(&b, MPI_COMM_WORLD, i);
    completions[how](members, b.requests);
    check(&b, names[how]);
  }
}

// On several communicators; their order differs from rank to rank.
static void many_outstanding(void) {
  enum { communicators = 4, each = 250, n = communicators * each };
  static MPI_Request requests[n];
  static int own[n], sums[n];
  MPI_Comm comms[communicators];
  for (int c = 0; c < communicators; ++c) MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
  for (int order = 0; order < 4; ++order) {
    for (int i = 0; i < each; ++i)
      for (int c = 0; c < communicators; ++c) {
        const int at = (c + rank) % communicators, k = at * each + i;
        own[k] = k + rank + order;
        MPI_Iallreduce(&own[k], &sums[k], 1, MPI_INT, MPI_SUM, comms[at], &requests[k]);
      }
    switch (order) {
      case 0: by_waitall(n, requests); break;
      case 1: by_wait(n, requests); break;  // the last first
      case 2: by_test(n, requests); break;
      case 3:  // in a shuffled order: 7 has no divisor in common with n
        for (int i = 0; i < n; ++i) MPI_Wait(&requests[(i * 7 + rank) % n], MPI_STATUS_IGNORE);
        break;
    }
    for (int k = 0; k < n; ++k)
      if (sums[k] != sum_of_ranks() + p * (k + order)) fail("outstanding: sum %d is %d", k, sums[k]);
  }
  for (int c = 0; c < communicators; ++c) MPI_Comm_free(&comms[c]);
}

// (a, b) stands for x -> a x + b; composition does not commute.
static void compose(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  const unsigned* left = in;
  unsigned* right = inout;
  for (int i = 0; i < *n; ++i, left += 3, right += 3) {
    right[2] = left[0] * right[2] + left[2];
    right[0] *= left[0];
  }
}

// The operation and the datatype (two ints with a gap between them) are gone before the results come; so may be the
// communicator.
static void handles_freed(int communicator_too) {
  enum { n = 500 };
  static unsigned own[n][3], got[n][3], moved[n][3];
  for (int repeat = 0; repeat < 20; ++repeat) {
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request requests[2];
    if (communicator_too) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(2, 1, 2, MPI_UNSIGNED, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(compose, 0, &op);
    for (int i = 0; i < n; ++i) {
      own[i][0] = 2 * (rank + i) + 1;
      own[i][2] = rank * 7 + i;
      got[i][1] = moved[i][1] = 4711;
      moved[i][0] = moved[i][2] = rank == 0 ? i : 0;
    }
    MPI_Iallreduce(own, got, n, type, op, comm, &requests[0]);
    MPI_Ibcast(moved, n, type, 0, comm, &requests[1]);
    MPI_Type_free(&type);
    MPI_Op_free(&op);
    if (communicator_too) MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (unsigned i = 0; i < n; ++i) {
      unsigned wanted[3] = {1, 4711, 0};
      for (int r = 0; r < p; ++r) {
        wanted[2] += wanted[0] * (r * 7 + i);
        wanted[0] *= 2 * (r + i) + 1;
      }
      if (memcmp(got[i], wanted, sizeof wanted) != 0) {
        fail("handles freed: composition %d", i);
        return;
      }
      if (moved[i][0] != i || moved[i][1] != 4711 || moved[i][2] != i) {
        fail("handles freed: element %d", i);
        return;
      }
    }
  }
}

// Rank 0 sits in one call until the others have got their sums, which need its part.
static void inside(int call) {
  enum { tag = 9, n = 70000 };
  static int own[n], sums[n];
  MPI_Request request;
  MPI_Message message;
  int token = -1, mine = rank;
  const int other = p - 1;
  for (int i = 0; i < n; ++i) own[i] = rank + i;
  MPI_Iallreduce(own, sums, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  if (rank == 0) {
    switch (call) {
      case 0: MPI_Recv(&token, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); break;
      case 1:
        MPI_Probe(other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&token, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
      case 2:
        MPI_Mprobe(other, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&token, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        break;
      case 3:
        MPI_Ssend(&mine, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
        token = other;
        break;
      case 4:
        MPI_Sendrecv(&mine, 1, MPI_INT, other, tag, &token, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
      case 5: {
        MPI_Request receive;
        MPI_Irecv(&token, 1, MPI_INT, other, tag, MPI_COMM_WORLD, &receive);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        break;
      }
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (token != other) fail("call %d brought %d", call, token);
  } else {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == other) {
      if (call != 3) MPI_Send(&mine, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
      if (call == 3 || call == 4) MPI_Recv(&token, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  for (int i = 0; i < n; ++i)
    if (sums[i] != sum_of_ranks() + p * i) {
      fail("inside call %d: sum %d is %d", call, i, sums[i]);
      return;
    }
}

// Some ranks first call something collective on another communicator, then wait; the others do it the other way round.
static void elsewhere(int call, int used_before) {
  enum { n = 70000 };
  static int own[n], sums[n];
  MPI_Comm first, second, third;
  MPI_Request request;
  int moved = rank;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  if (used_before) {
    MPI_Barrier(first);
    MPI_Barrier(second);
  }
  for (int i = 0; i < n; ++i) own[i] = rank + i;
  MPI_Iallreduce(own, sums, n, MPI_INT, MPI_SUM, first, &request);
  for (int turn = 0; turn < 2; ++turn) {
    if (turn == (rank == 0)) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      continue;
    }
    switch (call) {
      case 0: MPI_Barrier(second); break;
      case 1:
        MPI_Sendrecv_replace(&moved, 1, MPI_INT, (rank + 1) % p, 0, (rank + p - 1) % p, 0, second, MPI_STATUS_IGNORE);
        if (moved != (rank + p - 1) % p) fail("Sendrecv_replace brought %d", moved);
        break;
#if HAS_PERSISTENT
      case 2: {
        MPI_Request barrier;
        MPI_Barrier_init(second, MPI_INFO_NULL, &barrier);
        MPI_Request_free(&barrier);
        break;
      }
#endif
      case 3:
        MPI_Comm_dup(second, &third);
        MPI_Comm_free(&third);
        break;
    }
  }
  for (int i = 0; i < n; ++i)
    if (sums[i] != sum_of_ranks() + p * i) {
      fail("elsewhere %d: sum %d is %d", call, i, sums[i]);
      break;
    }
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
}

// Communicators whose only operation moves nothing.
static void empty_ones(void) {
  for (int i = 0; i < 100; ++i) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Ibcast(NULL, 0, MPI_INT, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
  }
}

// The first operation of a communicator returns at once, even if other ranks come to it only when they hear of that.
static void first_and_late(int operation) {
  MPI_Comm comm;
  MPI_Request request;
  int sum = -1, news = rank == 0 ? 5 : -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank > 0) MPI_Recv(NULL, 0, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  switch (operation) {
    case 0: MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request); break;
    case 1: MPI_Ibcast(&news, 1, MPI_INT, 0, comm, &request); break;
    case 2: MPI_Ibarrier(comm, &request); break;
  }
  if (rank < p - 1) MPI_Send(NULL, 0, MPI_INT, rank + 1, 3, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (operation == 0 && sum != sum_of_ranks()) fail("first operation: sum %d", sum);
  if (operation == 1 && news != 5) fail("first operation: news %d", news);
  MPI_Comm_free(&comm);
}

// Blocking operations overtake those that are pending on the same communicator.
static void among_blocking_ones(MPI_Comm comm, int repeats) {
  for (int i = 0; i < repeats; ++i) {
    MPI_Request requests[3];
    int own = rank + i, first = -1, second = -1, news = rank == i % p ? i : -1, later = news, third = -1;
    MPI_Iallreduce(&own, &first, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Allreduce(&own, &second, 1, MPI_INT, MPI_MAX, comm);
    MPI_Ibcast(&news, 1, MPI_INT, i % p, comm, &requests[1]);
    MPI_Barrier(comm);
    MPI_Iallreduce(&own, &third, 1, MPI_INT, MPI_MIN, comm, &requests[2]);
    MPI_Bcast(&later, 1, MPI_INT, i % p, comm);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    if (first != sum_of_ranks() + p * i || second != p - 1 + i || third != i || news != i || later != i)
      fail("among blocking ones: %d %d %d %d %d in round %d", first, second, third, news, later, i);
  }
}

static void* alone(void* comm) {
  among_blocking_ones(*(MPI_Comm*)comm, 200);
  return NULL;
}

static void two_threads(void) {
  MPI_Comm comms[2];
  pthread_t other;
  if (!threaded) return;
  for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  pthread_create(&other, NULL, alone, &comms[0]);
  among_blocking_ones(comms[1], 200);
  pthread_join(other, NULL);
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&comms[i]);
}

static void first(void) {
  for (int operation = 0; operation < 3; ++operation) first_and_late(operation);
}

static void blocked(void) {
  for (int call = 0; call < 6 && p > 1; ++call) inside(call);
}

// MPICH lets nobody send messages while it is inside MPI_Comm_dup, so with messages only this call is left out.
static void others(void) {
  for (int call = 0; call < 3; ++call)
    for (int used_before = 0; used_before < 2; ++used_before) elsewhere(call, used_before);
  empty_ones();
}

static void inside_dup(void) {
  for (int used_before = 0; used_before < 2; ++used_before) elsewhere(3, used_before);
}

static void freed(void) { handles_freed(0); }
static void orphans(void) { handles_freed(1); }
static void mixed(void) { among_blocking_ones(MPI_COMM_WORLD, 100); }

static const struct {
  const char* name;
  void (*run)(void);
} sections[] = {{"first", first},           {"completions", complete_by_all_means},
                {"many", many_outstanding}, {"freed", freed},
                {"orphans", orphans},       {"blocked", blocked},
                {"mixed", mixed},           {"threads", two_threads},
                {"others", others},         {"inside_dup", inside_dup}};

// Usage: nonblocking [SECTION...] (default: all but inside_dup)
int main(int argc, char** argv) {
  int provided;
  // Progress inside MPI_Comm_dup must come without locks.
  const int level = argc > 1 && !strcmp(argv[1], "inside_dup") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
  MPI_Init_thread(&argc, &argv, level, &provided);
  threaded = provided == MPI_THREAD_MULTIPLE;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  for (size_t i = 0; i < sizeof sections / sizeof *sections; ++i) {
    int wanted = argc == 1 && sections[i].run != inside_dup;
    for (int k = 1; k < argc; ++k) wanted |= strcmp(argv[k], sections[i].name) == 0;
    if (wanted) sections[i].run();
  }
  return finish();
}
