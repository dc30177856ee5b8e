// Communicators that are freed and made again: each is like a new one, whatever was left behind on the one before.
#include "check.h"

static int rank, p;

// The sum of its members' ranks in the world, its size, and the own rank.
static void expect(const char* what, MPI_Comm comm, int size, int mine, int sum) {
  int found_size, found_rank, found = 0;
  MPI_Comm_size(comm, &found_size);
  MPI_Comm_rank(comm, &found_rank);
  MPI_Allreduce(&rank, &found, 1, MPI_INT, MPI_SUM, comm);
  if (found_size != size || found_rank != mine || found != sum)
    fail("%s: rank %d of %d, sum %d; not %d of %d, %d", what, found_rank, found_size, found, mine, size, sum);
}

static void release(MPI_Comm* comm) {
  MPI_Comm_free(comm);
  if (*comm != MPI_COMM_NULL) fail("a freed communicator is not MPI_COMM_NULL");
}

static MPI_Comm duplicate(MPI_Comm parent) {
  MPI_Comm made;
  MPI_Comm_dup(parent, &made);
  return made;
}

static void shapes(MPI_Comm parent) {
  const int all = p * (p - 1) / 2;
  for (int i = 0; i < 60; ++i) {
    MPI_Comm live[3], part, nested;
    const int left_out = i % p, backwards = i % 2;
    for (int k = 0; k < 3; ++k) {
      int result;
      live[k] = duplicate(parent);
      for (int other = 0; other < k; ++other) {
        MPI_Comm_compare(live[other], live[k], &result);
        if (result != MPI_CONGRUENT) fail("two at once are one");
      }
    }
    MPI_Comm_split(live[i % 3], rank == left_out ? MPI_UNDEFINED : 1, backwards ? -rank : rank, &part);
    if ((part == MPI_COMM_NULL) != (rank == left_out)) fail("who is left out is in");
    if (part != MPI_COMM_NULL) {
      const int before = rank - (rank > left_out);
      expect("part", part, p - 1, backwards ? p - 2 - before : before, all - left_out);
      nested = duplicate(part);
      release(&part);
      expect("nested", nested, p - 1, backwards ? p - 2 - before : before, all - left_out);
      release(&nested);
    }
    for (int k = i % 4; k < 3; ++k) expect("duplicate", live[k], p, rank, all);
    for (int k = 0; k < 3; ++k) release(&live[(k + i) % 3]);
  }
}

static MPI_Errhandler handler_of(MPI_Comm comm) {
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(comm, &handler);
  return handler;
}

static void handlers(MPI_Comm parent) {
  for (int i = 0; i < 6; ++i) {
    MPI_Comm_set_errhandler(parent, i % 2 ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL);
    MPI_Comm made = duplicate(parent);
    if (handler_of(made) != handler_of(parent)) fail("a duplicate has another error handler than its parent");
    release(&made);
  }
}

static int copies, deletions;
static int copy(MPI_Comm comm, int key, void* extra, void* value, void* copied, int* flag) {
  (void)comm, (void)key, (void)extra;
  ++copies;
  *(void**)copied = value;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deletions;
  return MPI_SUCCESS;
}

static int has(MPI_Comm comm, int key) {
  void* value;
  int flag;
  MPI_Comm_get_attr(comm, key, &value, &flag);
  return flag;
}

static void attributes(MPI_Comm parent) {
  int key;
  MPI_Comm_create_keyval(copy, delete, &key, NULL);
  for (int i = 0; i < 6; ++i) {  // of one that is freed
    MPI_Comm made = duplicate(parent);
    if (has(made, key)) fail("a new communicator has an attribute");
    if (i % 2) MPI_Comm_set_attr(made, key, &key);
    release(&made);
  }
  if (copies != 0 || deletions != 3) fail("%d copies and %d deletions, not 0 and 3", copies, deletions);
  copies = deletions = 0;
  MPI_Comm holder = duplicate(parent);
  MPI_Comm_set_attr(holder, key, &key);
  MPI_Barrier(holder);
  for (int i = 0; i < 4; ++i) {
    MPI_Comm made = duplicate(holder), again = duplicate(made);
    MPI_Barrier(made);
    if (!has(made, key) || !has(again, key)) fail("a duplicate lacks its parent's attribute");
    release(&again);
    release(&made);
  }
  if (copies != 8 || deletions != 8) fail("%d copies and %d deletions, not 8 of each", copies, deletions);
  release(&holder);
  if (deletions != 9) fail("%d deletions, not 9", deletions);
  MPI_Comm_free_keyval(&key);
}

static void names(MPI_Comm parent) {
  for (int i = 0; i < 4; ++i) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm made = duplicate(parent);
    MPI_Comm_get_name(made, name, &length);
    if (!strcmp(name, "mine")) fail("a new communicator has a name");
    MPI_Comm_set_name(made, "mine");
    release(&made);
  }
}

// MPICH 5 may abort when a communicator is freed on which a message has come that nobody has received.
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 50000000
enum { all_received = 1 };
#else
enum { all_received = 0 };
#endif

// Messages that nobody has received, and receives for which nobody has sent.
static void messages(MPI_Comm parent) {
  MPI_Request posted[4], persistent;
  static int old[4];
  for (int i = 0; i < 4; ++i) {
    int value = 100 + rank, got = -1, found = 0;
    MPI_Status status;
    MPI_Comm made = duplicate(parent);
    MPI_Barrier(made);
    if (rank == 2) MPI_Send(&value, 1, MPI_INT, 1, 7, made);
    if (rank == 1) MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, made, &status);
    if (rank == 1 && (got != 102 || status.MPI_SOURCE != 2 || status.MPI_TAG != 7))
      fail("%d from %d, tag %d: of an earlier communicator", got, status.MPI_SOURCE, status.MPI_TAG);
    MPI_Barrier(made);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, made, &found, MPI_STATUS_IGNORE);
    if (found) fail("a new communicator has a message");
    // What is left behind.
    if (rank == 0) {
      if (i % 2)
        MPI_Send(&value, 1, MPI_INT, 1, 8, made);
      else {
        MPI_Send_init(&value, 1, MPI_INT, 1, 8, made, &persistent);
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        MPI_Request_free(&persistent);
      }
    }
    if (all_received && rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, 8, made, MPI_STATUS_IGNORE);
    MPI_Irecv(&old[i], 1, MPI_INT, 2, 7, made, &posted[i]);
    release(&made);
  }
  for (int i = 0; i < 4; ++i) {
    MPI_Cancel(&posted[i]);
    MPI_Wait(&posted[i], MPI_STATUS_IGNORE);
  }
}

static void under_way(MPI_Comm parent) {
  enum { many = 12 };
  MPI_Request requests[many];
  int mine[many], sums[many];
  for (int i = 0; i < many; ++i) {
    MPI_Comm made = duplicate(parent);
    mine[i] = rank + i;
    MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_INT, MPI_SUM, made, &requests[i]);
    release(&made);
  }
  MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < many; ++i)
    if (sums[i] != p * (p - 1) / 2 + i * p) fail("sum %d is %d", i, sums[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  static void (*const parts[])(MPI_Comm) = {shapes, handlers, names, messages, under_way, attributes, shapes};
  for (int i = 0; i < (int)(sizeof parts / sizeof parts[0]); ++i) {
    MPI_Comm parent = duplicate(MPI_COMM_WORLD);
    expect("parent", parent, p, rank, p * (p - 1) / 2);
    parts[i](parent);
    expect("parent", parent, p, rank, p * (p - 1) / 2);
    release(&parent);
  }
  return finish();
}
