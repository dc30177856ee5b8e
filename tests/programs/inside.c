// Correct programs in which rank 0 waits for a collective that does not block, while the others, which have started it, too, block inside
// another function that needs rank 0: the collective has to go on there.
//
// Usage: inside [FUNCTION...] (default: all but those in which a stock MPI stops or which take long). Each beside operations of two lengths,
// predefined and of the program, nonblocking and persistent.
#include <unistd.h>

#include "check.h"

enum { shorter = 100, longer = 100000 };  // ints

static int rank, p;
static char* program;
static MPI_Comm made, halves, inter;
static MPI_Win window;
static MPI_File file;
static unsigned memory[64], more[64];
static void* base;
static char path[256];

static void sum(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  const unsigned* a = in;
  unsigned* b = inout;
  for (int i = 0; i < *n; ++i) b[i] += a[i];
}

static void nothing(void) {}
static void free_made(void) { MPI_Comm_free(&made); }

static void duplicate(void) { MPI_Comm_dup(MPI_COMM_WORLD, &made); }
static void dup_with_info(void) { MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made); }
static void idup(void) {
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void split(void) { MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made); }
static void split_type(void) { MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made); }
static void create(void) {
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &made);
  MPI_Group_free(&group);
}
static void create_group(void) {
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &made);
  MPI_Group_free(&group);
}
static void cart_create(void) {
  const int dims[] = {p}, periods[] = {0};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &made);
}
static void dist_graph(void) {
  const int next = (rank + 1) % p, previous = (rank + p - 1) % p;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &made);
}

static void make_dup(void) { duplicate(); }
static void disconnect(void) { MPI_Comm_disconnect(&made); }

static void make_halves(void) { MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves); }
static void intercomm_create(void) { MPI_Intercomm_create(halves, 0, MPI_COMM_WORLD, 1 - rank % 2, 8, &inter); }
static void free_inter(void) {
  MPI_Comm_free(&inter);
  MPI_Comm_free(&halves);
}
static void make_inter(void) {
  make_halves();
  intercomm_create();
}
static void merge(void) { MPI_Intercomm_merge(inter, rank % 2, &made); }
static void free_merged(void) {
  free_made();
  free_inter();
}
static void inter_barrier(void) { MPI_Barrier(inter); }
static void inter_allreduce(void) {
  int one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, inter);
  if (all != (rank % 2 ? (p + 1) / 2 : p / 2)) fail("sum over an intercommunicator: %d", all);
}

static void win_create(void) { MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window); }
static void win_allocate(void) { MPI_Win_allocate(256, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window); }
static void win_free(void) { MPI_Win_free(&window); }
static void win_fence(void) { MPI_Win_fence(0, window); }
// Rank 0 holds the lock of its window until the collective is over.
static void lock_own(void) {
  win_create();
  if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void lock_others(void) {
  if (rank == 0) {
    MPI_Win_unlock(0, window);
    return;
  }
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Accumulate(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_flush(0, window);
  MPI_Win_unlock(0, window);
}
static void post_and_wait(void) {
  MPI_Group all, zero, others;
  const int first = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &first, &zero);
  MPI_Group_excl(all, 1, &first, &others);
  if (rank == 0) {
    MPI_Win_start(others, 0, window);
    for (int to = 1; to < p; ++to) MPI_Put(more, 1, MPI_UNSIGNED, to, 0, 1, MPI_UNSIGNED, window);
    MPI_Win_complete(window);
  } else {
    MPI_Win_post(zero, 0, window);
    MPI_Win_wait(window);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&zero);
  MPI_Group_free(&others);
}

static void file_open(void) {
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
}
static void file_close(void) { MPI_File_close(&file); }
static void write_all(void) { MPI_File_write_at_all(file, 4 * rank, memory, 1, MPI_UNSIGNED, MPI_STATUS_IGNORE); }
static void read_all(void) { MPI_File_read_at_all(file, 0, more, 1, MPI_UNSIGNED, MPI_STATUS_IGNORE); }

static void receive(void) {
  if (rank == 0) {
    for (int to = 1; to < p; ++to) MPI_Send(memory, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(more, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
static void ssend(void) {
  if (rank == 0) {
    for (int from = 1; from < p; ++from) MPI_Recv(more, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Ssend(memory, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
}
static void probe(void) {
  if (rank == 0) {
    for (int to = 1; to < p; ++to) MPI_Send(memory, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  } else {
    MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(more, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void spawn(void) {
  MPI_Comm children;
  char* arguments[] = {"child", NULL};
  MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&children);
}
static const struct {
  const char* name;
  void (*before)(void);
  void (*block)(void);
  void (*after)(void);
  int only_if_named;
} functions[] = {{"dup", nothing, duplicate, free_made, 0},
                 {"dup_with_info", nothing, dup_with_info, free_made, 0},
                 {"idup", nothing, idup, free_made, 0},
                 {"split", nothing, split, free_made, 0},
                 {"split_type", nothing, split_type, free_made, 0},
                 {"create", nothing, create, free_made, 0},
                 {"create_group", nothing, create_group, free_made, 0},
                 {"cart_create", nothing, cart_create, free_made, 0},
                 {"dist_graph", nothing, dist_graph, free_made, 0},
                 {"free", make_dup, free_made, nothing, 0},
                 {"disconnect", make_dup, disconnect, nothing, 0},
                 {"intercomm_create", make_halves, intercomm_create, free_inter, 1},
                 {"merge", make_inter, merge, free_merged, 0},
                 {"inter_barrier", make_inter, inter_barrier, free_inter, 0},
                 {"inter_allreduce", make_inter, inter_allreduce, free_inter, 0},
                 {"win_create", nothing, win_create, win_free, 0},
                 {"win_allocate", nothing, win_allocate, win_free, 0},
                 {"win_free", win_create, win_free, nothing, 0},
                 {"fence", win_create, win_fence, win_free, 0},
                 {"lock", lock_own, lock_others, win_free, 1},
                 {"post", win_create, post_and_wait, win_free, 1},
                 {"file_open", nothing, file_open, file_close, 0},
                 {"write_all", file_open, write_all, file_close, 0},
                 {"read_all", file_open, read_all, file_close, 0},
                 {"file_close", file_open, file_close, nothing, 0},
                 {"recv", nothing, receive, nothing, 0},
                 {"ssend", nothing, ssend, nothing, 0},
                 {"probe", nothing, probe, nothing, 0},
                 {"spawn", nothing, spawn, nothing, 1}};

static unsigned *mine, *all;

static void start(int n, MPI_Op op, int persistent, MPI_Request* request) {
  for (int i = 0; i < n; ++i) mine[i] = (unsigned)(rank + i);
  memset(all, 0, (size_t)n * sizeof *all);
#if HAS_PERSISTENT
  if (persistent) {
    MPI_Allreduce_init(mine, all, n, MPI_UNSIGNED, op, MPI_COMM_WORLD, MPI_INFO_NULL, request);
    MPI_Start(request);
    return;
  }
#else
  (void)persistent;
#endif
  MPI_Iallreduce(mine, all, n, MPI_UNSIGNED, op, MPI_COMM_WORLD, request);
}

static void check_result(const char* name, int n, int persistent) {
  for (int i = 0; i < n; ++i)
    if (all[i] != (unsigned)(p * i + p * (p - 1) / 2)) {
      fail("%s%s of %d ints: [%d] is %u", persistent ? "persistent beside " : "beside ", name, n, i, all[i]);
      return;
    }
}

static int wanted(int argc, char** argv, const char* name, int only_if_named) {
  for (int k = 1; k < argc; ++k)
    if (strcmp(argv[k], name) == 0) return 1;
  return argc == 1 && !only_if_named;
}

int main(int argc, char** argv) {
  int provided;
  const char* threads = getenv("TEST_THREADS");
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (argc > 1 && strcmp(argv[1], "child") == 0) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  program = argv[0];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  snprintf(path, sizeof path, "%s.file-%d", argv[0], rank == 0 ? (int)getpid() : 0);
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  mine = malloc(longer * sizeof *mine);
  all = malloc(longer * sizeof *all);
  MPI_Op ours;
  MPI_Op_create(sum, 1, &ours);
  for (size_t f = 0; f < sizeof functions / sizeof *functions; ++f) {
    if (!wanted(argc, argv, functions[f].name, functions[f].only_if_named)) continue;
    for (int kind = 0; kind < 4; ++kind) {
      const int n = kind == 0 ? shorter : longer, of_program = kind >= 2, persistent = kind == 3;
      if (persistent && !HAS_PERSISTENT) break;
      if (getenv("TEST_VERBOSE") && rank == 0) fprintf(stderr, "%s %d\n", functions[f].name, kind);
      functions[f].before();
      MPI_Request request;
      start(n, of_program ? ours : MPI_SUM, persistent, &request);
      if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
      functions[f].block();
      if (rank != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (persistent) MPI_Request_free(&request);
      check_result(functions[f].name, n, persistent);
      functions[f].after();
    }
  }
  MPI_Op_free(&ours);
  if (rank == 0) remove(path);
  free(mine);
  free(all);
  return finish();
}
