// All collectives of intercommunicators, in all forms, between groups of all sizes; what they bring is compared with what it has to be.
#include "check.h"

enum { blocking, nonblocking, persistent, forms = 2 + HAS_PERSISTENT };
enum { most = 9, long_message = 30000 };

static const char* const form_names[] = {"blocking", "nonblocking", "persistent"};
static MPI_Comm inter;
static int form, group, rank, own, remote;  // group: 0 or 1; own, remote: ranks

#if HAS_PERSISTENT
#define PERSISTENT(Name, ...)                                       \
  if (form == persistent) {                                         \
    MPI_##Name##_init(__VA_ARGS__, inter, MPI_INFO_NULL, &request); \
    for (int again = 0; again < 2; ++again) {                       \
      MPI_Start(&request);                                          \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                        \
    }                                                               \
    MPI_Request_free(&request);                                     \
  }
#else
#define PERSISTENT(Name, ...)
#endif
#define CALL(Name, name, ...)                             \
  do {                                                    \
    MPI_Request request;                                  \
    if (form == blocking) MPI_##Name(__VA_ARGS__, inter); \
    if (form == nonblocking) {                            \
      MPI_I##name(__VA_ARGS__, inter, &request);          \
      MPI_Wait(&request, MPI_STATUS_IGNORE);              \
    }                                                     \
    PERSISTENT(Name, __VA_ARGS__)                         \
  } while (0)

// Element i of what that rank of that group has for the other group's rank `to`.
static int value(int of_group, int of, int to, int i) {
  return (of_group + 1) * 100000 + of * 10000 + to * 1000 + i % 997;
}

static int* ints(int n) {
  int* all = malloc((n + 1) * sizeof(int));
  for (int i = 0; i <= n; ++i) all[i] = -1;
  return all;
}
static int* own_data(int to, int n) {
  int* all = ints(n);
  for (int i = 0; i < n; ++i) all[i] = value(group, rank, to, i);
  return all;
}
static void expect(const char* what, int i, int got, int wanted) {
  if (got != wanted)
    fail("%s, %s, group %d of %d, other of %d: element %d is %d, not %d", what, form_names[form], group, own, remote, i,
         got, wanted);
}

// Calls use(root) for each root of both groups, as MPI wants it on this rank: also whether it is the root, or has nothing to do.
static void for_each_root(void (*use)(int root, int number, int n), int n) {
  for (int of_group = 0; of_group < 2; ++of_group)
    for (int r = 0; r < (of_group == group ? own : remote); ++r)
      use(of_group != group ? r : r == rank ? MPI_ROOT : MPI_PROC_NULL, r, n);
}

// What a rank says that has nothing to do with the root is nobody's business; but Open MPI 4.1's own persistent operations, by which this goes
// where omnes is a component, mistake later ones for each other if it says 0.
static int count_at(int root, int n) { return root == MPI_PROC_NULL && form != persistent ? 0 : n; }

static void bcast(int root, int number, int n) {
  int* data = root == MPI_ROOT ? own_data(0, n) : ints(n);
  CALL(Bcast, bcast, data, count_at(root, n), MPI_INT, root);
  if (root >= 0)
    for (int i = 0; i < n; ++i) expect("Bcast", i, data[i], value(!group, number, 0, i));
  free(data);
}

static int sum(int of_group, int ranks, int to, int i) {
  int all = 0;
  for (int r = 0; r < ranks; ++r) all += value(of_group, r, to, i);
  return all;
}

static void reduce(int root, int number, int n) {
  (void)number;
  int *data = own_data(0, n), *got = ints(n);
  CALL(Reduce, reduce, data, got, count_at(root, n), MPI_INT, MPI_SUM, root);
  for (int i = 0; i < n; ++i) expect("Reduce", i, got[i], root == MPI_ROOT ? sum(!group, remote, 0, i) : -1);
  free(data);
  free(got);
}

static void allreduce(int n) {
  int *data = own_data(0, n), *got = ints(n);
  CALL(Allreduce, allreduce, data, got, n, MPI_INT, MPI_SUM);
  for (int i = 0; i < n; ++i) expect("Allreduce", i, got[i], sum(!group, remote, 0, i));
  free(data);
  free(got);
}

// Compositions of affine maps, which do not commute: x -> a x + b.
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const unsigned* first = in;
  unsigned* second = inout;
  for (int i = 0; i < *count; ++i, first += 2, second += 2) {
    second[1] = first[0] * second[1] + first[1];
    second[0] *= first[0];
  }
}
static void in_order(int n) {
  MPI_Op op;
  MPI_Datatype pair;
  MPI_Op_create(compose, 0, &op);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  int *data = own_data(0, 2 * n), *got = ints(2 * n);
  CALL(Allreduce, allreduce, data, got, n, pair, op);
  for (int i = 0; i < 2 * n; i += 2) {
    int all[2] = {1, 0}, one = 1;
    for (int r = remote; r-- > 0;) {
      int next[2] = {value(!group, r, 0, i), value(!group, r, 0, i + 1)};
      compose(next, all, &one, &pair);
    }
    expect("Allreduce in order", i, got[i], all[0]);
    expect("Allreduce in order", i + 1, got[i + 1], all[1]);
  }
  free(data);
  free(got);
  MPI_Type_free(&pair);
  MPI_Op_free(&op);
}

// A function of the program that adds the first of two integers that have a gap between them.
static void add_spread(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    for (int k = 0; k < 3; k += 2) ((int*)inout)[4 * i + k] += ((int*)in)[4 * i + k];
}
static MPI_Datatype spread(void) {
  MPI_Datatype vector, made;
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, 4 * sizeof(int), &made);
  MPI_Type_free(&vector);
  MPI_Type_commit(&made);
  return made;
}
static int is_gap(int i) { return i % 2 != 0; }

static void with_gaps(int n) {
  MPI_Op op;
  MPI_Datatype type = spread();
  MPI_Op_create(add_spread, 1, &op);
  int *data = own_data(0, 4 * n * own * remote), *got = ints(4 * n * own * remote);
  CALL(Allreduce, allreduce, data, got, n, type, op);
  for (int i = 0; i < 4 * n; ++i) expect("Allreduce with gaps", i, got[i], is_gap(i) ? -1 : sum(!group, remote, 0, i));
  free(got);
  got = ints(4 * n * own * remote);
  CALL(Reduce_scatter_block, reduce_scatter_block, data, got, n * remote, type, op);
  for (int i = 0; i < 4 * n * remote; ++i)
    expect("Reduce_scatter_block with gaps", i, got[i],
           is_gap(i) ? -1 : sum(!group, remote, 0, rank * 4 * n * remote + i));
  free(got);
  got = ints(4 * n * own * remote);
  int root = group == 0 ? MPI_PROC_NULL : 0;
  if (group == 0 && rank == own - 1) root = MPI_ROOT;
  if (group == 1) root = remote - 1;
  CALL(Reduce, reduce, data, got, n, type, op, root);
  for (int i = 0; i < 4 * n; ++i)
    expect("Reduce with gaps", i, got[i], root != MPI_ROOT || is_gap(i) ? -1 : sum(!group, remote, 0, i));
  free(got);
  got = ints(4 * n * own * remote);
  CALL(Allgather, allgather, data, n, type, got, n, type);
  for (int i = 0; i < 4 * n * remote; ++i)
    expect("Allgather with gaps", i, got[i], is_gap(i) ? -1 : value(!group, i / (4 * n), 0, i % (4 * n)));
  free(got);
  free(data);
  MPI_Type_free(&type);
  MPI_Op_free(&op);
}

static void reduce_scatter(int n) {
  const int all = n * own * remote;  // elements of both groups' contributions
  int counts[most], before = 0;
  int *data = own_data(0, all), *got = ints(all);
  CALL(Reduce_scatter_block, reduce_scatter_block, data, got, n * remote, MPI_INT, MPI_SUM);
  for (int i = 0; i < n * remote; ++i)
    expect("Reduce_scatter_block", i, got[i], sum(!group, remote, 0, rank * n * remote + i));
  free(got);
  got = ints(all);
  for (int r = 0; r < own; ++r) counts[r] = 0;  // of the first and the last one
  counts[0] += all / 2;
  counts[own - 1] += all - all / 2;
  for (int r = 0; r < rank; ++r) before += counts[r];
  CALL(Reduce_scatter, reduce_scatter, data, got, counts, MPI_INT, MPI_SUM);
  for (int i = 0; i < all; ++i)
    expect("Reduce_scatter", i, got[i], i < counts[rank] ? sum(!group, remote, 0, before + i) : -1);
  free(data);
  free(got);
}

// Of each rank of a group, unless all are the same: as many elements.
static int elements(int n, int of, int equal) { return equal ? n : n * (of % 3); }

static void gather_by(int root, int number, int n, int equal) {
  (void)number;
  int *data = own_data(0, 2 * n), *got = ints(2 * n * most), counts[most], starts[most];
  for (int r = 0; r < most; ++r) {
    counts[r] = elements(n, r, equal);
    starts[r] = 2 * n * (most - 1 - r);
  }
  if (equal)
    CALL(Gather, gather, data, root >= 0 ? n : 0, MPI_INT, got, n, MPI_INT, root);
  else
    CALL(Gatherv, gatherv, data, root >= 0 ? counts[rank] : 0, MPI_INT, got, counts, starts, MPI_INT, root);
  for (int r = 0; r < remote; ++r)
    for (int i = 0; i < counts[r]; ++i) {
      const int at = equal ? r * n + i : starts[r] + i;
      expect(equal ? "Gather" : "Gatherv", at, got[at], root == MPI_ROOT ? value(!group, r, 0, i) : -1);
    }
  free(data);
  free(got);
}
static void gather(int root, int number, int n) { gather_by(root, number, n, 1); }
static void gatherv(int root, int number, int n) { gather_by(root, number, n, 0); }

static void scatter_by(int root, int number, int n, int equal) {
  int *data = ints(2 * n * most), *got = ints(2 * n), counts[most], starts[most];
  for (int r = 0; r < most; ++r) {
    counts[r] = elements(n, r, equal);
    starts[r] = equal ? n * r : 2 * n * (most - 1 - r);
    for (int i = 0; i < counts[r]; ++i) data[starts[r] + i] = value(group, rank, r, i);
  }
  if (equal)
    CALL(Scatter, scatter, data, n, MPI_INT, got, root >= 0 ? n : 0, MPI_INT, root);
  else
    CALL(Scatterv, scatterv, data, counts, starts, MPI_INT, got, root >= 0 ? counts[rank] : 0, MPI_INT, root);
  for (int i = 0; i < 2 * n; ++i)
    expect(equal ? "Scatter" : "Scatterv", i, got[i],
           root >= 0 && i < counts[rank] ? value(!group, number, rank, i) : -1);
  free(data);
  free(got);
}
static void scatter(int root, int number, int n) { scatter_by(root, number, n, 1); }
static void scatterv(int root, int number, int n) { scatter_by(root, number, n, 0); }

// What one group sends may be longer than what it gets.
static void allgather(int n, int equal) {
  const int mine = group == 0 ? n : 2 * n, theirs = group == 0 ? 2 * n : n;
  int *data = own_data(0, 2 * mine), *got = ints(2 * theirs * most), counts[most], starts[most];
  for (int r = 0; r < most; ++r) {
    counts[r] = elements(theirs, r, equal);
    starts[r] = equal ? theirs * r : 2 * theirs * (most - 1 - r);
  }
  if (equal)
    CALL(Allgather, allgather, data, mine, MPI_INT, got, theirs, MPI_INT);
  else
    CALL(Allgatherv, allgatherv, data, elements(mine, rank, equal), MPI_INT, got, counts, starts, MPI_INT);
  for (int r = 0; r < remote; ++r)
    for (int i = 0; i < counts[r]; ++i)
      expect(equal ? "Allgather" : "Allgatherv", starts[r] + i, got[starts[r] + i], value(!group, r, 0, i));
  free(data);
  free(got);
}

enum { equal, unequal, typed };
static void alltoall(int n, int kind) {
  const int mine = group == 0 ? n : 2 * n, theirs = group == 0 ? 2 * n : n, room = 4 * n;
  int *data = ints(room * most), *got = ints(room * most);
  int sent[most], send_starts[most], received[most], receive_starts[most];
  MPI_Datatype types[most];
  for (int r = 0; r < most; ++r) {
    types[r] = MPI_INT;
    sent[r] = elements(mine, r + rank, kind == equal);
    received[r] = elements(theirs, r + rank, kind == equal);
    send_starts[r] = kind == equal ? mine * r : room * (most - 1 - r);
    receive_starts[r] = kind == equal ? theirs * r : room * r;
  }
  for (int r = 0; r < remote; ++r)
    for (int i = 0; i < sent[r]; ++i) data[send_starts[r] + i] = value(group, rank, r, i);
  if (kind == equal) CALL(Alltoall, alltoall, data, mine, MPI_INT, got, theirs, MPI_INT);
  if (kind == unequal)
    CALL(Alltoallv, alltoallv, data, sent, send_starts, MPI_INT, got, received, receive_starts, MPI_INT);
  if (kind == typed) {
    int send_bytes[most], receive_bytes[most];
    for (int r = 0; r < most; ++r) {
      send_bytes[r] = send_starts[r] * (int)sizeof(int);
      receive_bytes[r] = receive_starts[r] * (int)sizeof(int);
    }
    CALL(Alltoallw, alltoallw, data, sent, send_bytes, types, got, received, receive_bytes, types);
  }
  for (int r = 0; r < remote; ++r)
    for (int i = 0; i < received[r]; ++i)
      expect("Alltoall", receive_starts[r] + i, got[receive_starts[r] + i], value(!group, r, rank, i));
  free(data);
  free(got);
}

static void barrier(void) {
  MPI_Request request;
  if (form == blocking) MPI_Barrier(inter);
  if (form == nonblocking) {
    MPI_Ibarrier(inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
#if HAS_PERSISTENT
  if (form == persistent) {
    MPI_Barrier_init(inter, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
#endif
}

static void use_all(int n) {
  barrier();
  for_each_root(bcast, n);
  for_each_root(reduce, n);
  allreduce(n);
  in_order(n);
  for_each_root(gather, n);
  for_each_root(gatherv, n);
  for_each_root(scatter, n);
  for_each_root(scatterv, n);
  for (int alike = 0; alike < 2; ++alike) allgather(n, alike);
  for (int kind = equal; kind <= typed; ++kind) alltoall(n, kind);
  reduce_scatter(n);
  if (n > 0 && n < 100) with_gaps(n);
}

// Blocking calls that come again, with the same counts and with others, and of types whose handles come back.
static void again(void) {
  const int lengths[] = {3, 3, 1, 4, 0, 4, 2, 900};
  form = blocking;
  for (int i = 0; i < 8; ++i)
    for (int times = 0; times < 3; ++times) {
      const int n = lengths[i];
      for (int alike = 0; alike < 2; ++alike) allgather(n, alike);
      for (int kind = equal; kind <= typed; ++kind) alltoall(n, kind);
      reduce_scatter(n);
      for_each_root(gather, n);
      for_each_root(gatherv, n);
      for_each_root(scatter, n);
      for_each_root(scatterv, n);
      for (int of = 1; of <= 2; ++of) {
        MPI_Datatype type;
        int *data = own_data(0, of * n), *got = ints(of * n * most);
        MPI_Type_contiguous(of, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Allgather(data, n, type, got, n, type, inter);
        MPI_Type_free(&type);
        for (int k = 0; k < of * n * remote; ++k)
          expect("Allgather of a type", k, got[k], value(!group, k / (of * n), 0, k % (of * n)));
        free(data);
        free(got);
      }
    }
}

// Several are under way at once, started in the same order and ended in another.
static void at_once(void) {
  enum { count = 4, n = 100 };
  MPI_Request requests[2 * count];
  int *data = own_data(0, n), *got[count], *parts[count];
  for (int i = 0; i < count; ++i) {
    got[i] = ints(n);
    parts[i] = ints(n * most);
    MPI_Iallreduce(data, got[i], n, MPI_INT, MPI_SUM, inter, &requests[2 * i]);
    MPI_Iallgather(data, n, MPI_INT, parts[i], n, MPI_INT, inter, &requests[2 * i + 1]);
  }
  MPI_Barrier(inter);
  for (int i = 2 * count; i-- > 0;) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) {
    expect("Iallreduce at once", n - 1, got[i][n - 1], sum(!group, remote, 0, n - 1));
    expect("Iallgather at once", 0, parts[i][(remote - 1) * n], value(!group, remote - 1, 0, 0));
    free(got[i]);
    free(parts[i]);
  }
  free(data);
}

// Freed while something is under way on it.
static void freed_early(MPI_Comm of) {
  MPI_Comm twin;
  MPI_Request request;
  int* data = own_data(0, 1);
  int got = -1;
  MPI_Comm_dup(of, &twin);
  MPI_Barrier(twin);
  MPI_Iallreduce(data, &got, 1, MPI_INT, MPI_SUM, twin, &request);
  MPI_Comm_free(&twin);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect("Iallreduce on a freed one", 0, got, sum(!group, remote, 0, 0));
  free(data);
}

static int deleted;
static int count_deleted(MPI_Comm comm, int key, void* its_value, void* extra) {
  (void)comm;
  (void)key;
  (void)its_value;
  (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

// What else may be done with one.
static void handled(MPI_Comm of) {
  MPI_Comm twin, merged, part;
  int key, size, found, is_inter = 0;
  void* attribute;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count_deleted, &key, NULL);
  MPI_Comm_set_attr(of, key, &deleted);
  MPI_Comm_dup(of, &twin);
  inter = twin;
  form = blocking;
  allreduce(3);
  MPI_Comm_get_attr(twin, key, &attribute, &found);
  if (!found || attribute != &deleted) fail("an attribute is not copied");
  MPI_Comm_test_inter(twin, &is_inter);
  MPI_Comm_remote_size(twin, &size);
  if (!is_inter || size != remote) fail("%d, with %d others, not %d", is_inter, size, remote);
  MPI_Intercomm_merge(twin, group, &merged);
  MPI_Comm_size(merged, &size);
  int one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, merged);
  if (all != own + remote || size != all) fail("merged: %d of %d", all, size);
  MPI_Comm_free(&merged);
  deleted = 0;
  MPI_Comm_disconnect(&twin);
  if (deleted != 1) fail("an attribute is deleted %d times", deleted);
  MPI_Comm_delete_attr(of, key);
  MPI_Comm_free_keyval(&key);
  // The first ranks of both groups, and the others, where there are any.
  MPI_Comm_split(of, rank == 0, 0, &part);
  if (rank == 0) {
    MPI_Comm_remote_size(part, &size);
    all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, part);
    if (size != 1 || all != 1) fail("between the first ones: %d of %d", all, size);
  }
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
}

// Errors come back to the program, as those of its MPI, and leave the communicator usable.
static void errors(MPI_Comm of) {
  int data = 0, all[most];
  const int root = group > 0 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Comm_set_errhandler(of, MPI_ERRORS_RETURN);
  if (MPI_Bcast(&data, 1, MPI_INT, remote, of) == MPI_SUCCESS) fail("a root that is not there is taken");
  if (MPI_Bcast(&data, -1, MPI_INT, root, of) == MPI_SUCCESS && root != MPI_PROC_NULL)
    fail("a negative count is taken");
  if (MPI_Allgather(&data, -1, MPI_INT, all, -1, MPI_INT, of) == MPI_SUCCESS) fail("negative counts are taken");
  inter = of;
  form = blocking;
  allreduce(2);
  MPI_Comm_set_errhandler(of, MPI_ERRORS_ARE_FATAL);
}

// Who has nothing to do with a broadcast is not waited for: here it waits itself, for a message that is sent afterwards.
static void begun_without_all(void) {
  const int of_root = 0, root = own > 1 && group == of_root ? 1 : remote > 1 && group != of_root ? 1 : 0;
  int data = group == of_root ? 5 : 0;
  MPI_Bcast(&data, group == of_root && rank != root ? 0 : 1, MPI_INT,
            group != of_root ? root
            : rank == root   ? MPI_ROOT
                             : MPI_PROC_NULL,
            inter);
  if (data != 5) fail("the first broadcast brings %d", data);
  if (group != of_root && rank == 0) MPI_Send(NULL, 0, MPI_INT, 0, 3, inter);
  if (group == of_root && rank == 0) MPI_Recv(NULL, 0, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
}

// Usage: between [quick]
int main(int argc, char** argv) {
  int p, me;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  (void)argv;
  for (int first = 1; first < p; ++first) {
    MPI_Comm local, made;
    group = me >= first;
    // In the second group ranks go the other way round, and the last one leads.
    MPI_Comm_split(MPI_COMM_WORLD, group, group ? -me : me, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, group ? 0 : p - 1, 7, &made);
    MPI_Comm_free(&local);
    MPI_Comm_rank(made, &rank);
    MPI_Comm_size(made, &own);
    MPI_Comm_remote_size(made, &remote);
    inter = made;
    begun_without_all();
    MPI_Barrier(made);  // only then nonblocking ones are those of omnes; of Open MPI 4.1's own some do not end
    for (form = argc > 1 ? nonblocking : blocking; form < forms; ++form) {
      const int lengths[] = {1, 0, 7, 3000, long_message};
      for (int i = 0; i < (argc > 1 ? 3 : 5); ++i) use_all(lengths[i]);
    }
    again();
    form = nonblocking;
    at_once();
    freed_early(made);
    handled(made);
    errors(made);
    MPI_Comm_free(&made);
  }
  return finish();
}
