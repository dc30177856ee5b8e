/* Measures what messages cost, through the host MPI and through omnes' shared memory; led by `omnes measure`.

usage: costs ROUNDS   (an MPI program, with omnes loaded; at least two ranks)
Prints one JSON object a line: {"what": W, "bytes": B, "pairs": K, "seconds": [...]}, one value for each round.
  one_way    a message of the host MPI to a rank on another node (to the next rank where there is one node), there and back
  held       the part of that for which the sender is kept
  exchange   both send to each other at once; K pairs of ranks of the same two nodes at once
  burst      one of many small messages sent one after the other
  waits      1 when a send does not end before its receiver comes, else 0
  call       a collective of a rank alone
  publish    omnes: one rank publishes, the other reads; by turns
  many       omnes: the same in BURST pieces
  pair       omnes: a message to one rank; by turns
  swap       omnes: both send to each other
  combine    omnes: a message combined with what the receiver has; by turns
How: in each round a batch of all kinds of all sizes, so that a disturbance meets a few rounds of everything, and the
median does not see it. Each batch lasts long enough for the clock. Above SMALL bytes, where it matters who has the data
in its cache, they are written before each call, as programs do, and only the calls are timed. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BURST = 64, PIECE = 32, MAX_ROUNDS = 64, MAX_CALLS = 4000, MAX_KINDS = 10, MAX_BYTES = 4 << 20 };
enum { SMALL = 1024 };
enum { LATE_ROUNDS = 3, MAX_PAIRS = 64, WIDEST = 2 }; /* of ranks; kinds with several pairs */
static const double BATCH = 0.0008, LATE = 0.002;     /* seconds */

static int rank, ranks, rounds, partner = -1, first; /* partner: of p2p; first: this rank begins */
static MPI_Comm node_pair = MPI_COMM_NULL;           /* two ranks that share memory */
static MPI_Comm far;                                 /* all; the partner's rank is in it */
static char *a, *b;

static MPI_Comm with(MPI_Comm comm, const char* key, const char* value) {
  MPI_Comm copy;
  MPI_Info info;
  MPI_Comm_dup(comm, &copy);
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  MPI_Comm_set_info(copy, info);
  MPI_Info_free(&info);
  return copy;
}

static MPI_Comm publishing, many, gathering, swapping, reducing;

static void one_way(int bytes, long calls) {
  for (long i = 0; i < calls; ++i) {
    if (first) MPI_Send(a, bytes, MPI_BYTE, partner, 1, far);
    MPI_Recv(b, bytes, MPI_BYTE, partner, 1, far, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(a, bytes, MPI_BYTE, partner, 1, far);
  }
}
static void exchange(int bytes, long calls) {
  for (long i = 0; i < calls; ++i)
    MPI_Sendrecv(a, bytes, MPI_BYTE, partner, 2, b, bytes, MPI_BYTE, partner, 2, far, MPI_STATUS_IGNORE);
}
static double in_sends; /* seconds; of the rank that begins */
static void held(int bytes, long calls) {
  for (long i = 0; i < calls; ++i) {
    if (!first) MPI_Recv(b, bytes, MPI_BYTE, partner, 8, far, MPI_STATUS_IGNORE);
    const double begin = MPI_Wtime();
    MPI_Send(a, bytes, MPI_BYTE, partner, 8, far);
    if (first) in_sends += MPI_Wtime() - begin;
    if (first) MPI_Recv(b, bytes, MPI_BYTE, partner, 8, far, MPI_STATUS_IGNORE);
  }
}
static void burst(int bytes, long calls) {
  for (long i = 0; i < calls; ++i) {
    for (int m = 0; m < BURST; ++m)
      if (first)
        MPI_Send(a, bytes, MPI_BYTE, partner, 3, far);
      else
        MPI_Recv(b, bytes, MPI_BYTE, partner, 3, far, MPI_STATUS_IGNORE);
    if (first)
      MPI_Recv(b, 0, MPI_BYTE, partner, 4, far, MPI_STATUS_IGNORE);
    else
      MPI_Send(a, 0, MPI_BYTE, partner, 4, far);
  }
}
static void call(int bytes, long calls) {
  for (long i = 0; i < calls; ++i) MPI_Bcast(a, bytes, MPI_BYTE, 0, MPI_COMM_SELF);
}
static void publish(int bytes, long calls) {
  for (long i = 0; i < 2 * calls; ++i) MPI_Bcast(a, bytes, MPI_BYTE, i & 1, publishing);
}
static void in_pieces(int bytes, long calls) {
  for (long i = 0; i < 2 * calls; ++i) MPI_Bcast(a, bytes, MPI_BYTE, i & 1, many);
}
static void pair(int bytes, long calls) {
  int self;
  MPI_Comm_rank(gathering, &self);
  for (long i = 0; i < 2 * calls; ++i)
    MPI_Gather(self == (i & 1) ? MPI_IN_PLACE : a, bytes, MPI_BYTE, b, bytes, MPI_BYTE, i & 1, gathering);
}
static void swap(int bytes, long calls) {
  for (long i = 0; i < calls; ++i) MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, bytes, MPI_BYTE, swapping);
}
static void combine(int bytes, long calls) {
  for (long i = 0; i < 2 * calls; ++i)
    MPI_Reduce(a, b, bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, i & 1, reducing);
}

struct kind {
  const char* what;
  void (*run)(int, long);
  MPI_Comm comm;  /* whose ranks take part; that of this rank alone: with the partner */
  int takes_part; /* this rank does */
  int per_call;   /* one-way times, or messages, in a call */
  int max_bytes, min_bytes;
};

/* One line of figures: kinds that run together, of one size. */
struct row {
  const struct kind* kinds;
  int count, bytes, pairs;
  long calls[MAX_KINDS];
  double seconds[MAX_KINDS][MAX_ROUNDS];
};

static void write_data(int bytes, long call) {
  memset(a, (int)call, bytes);
  memset(b, (int)call, 2 * bytes);
}

static void meet(const struct kind* kind) {
  if (kind->comm != MPI_COMM_SELF)
    MPI_Barrier(kind->comm);
  else if (partner >= 0)
    PMPI_Sendrecv(NULL, 0, MPI_BYTE, partner, 7, NULL, 0, MPI_BYTE, partner, 7, far, MPI_STATUS_IGNORE);
}

/* Seconds of one call of `calls` of it, after ranks have met. */
static double batch(const struct kind* kind, int bytes, long calls) {
  PMPI_Barrier(kind->comm);
  kind->run(bytes, 1);
  double begin = MPI_Wtime(), total = 0;
  in_sends = 0;
  if (bytes <= SMALL) {
    kind->run(bytes, calls);
    return (MPI_Wtime() - begin) / calls;
  }
  for (long i = 0; i < calls; ++i) {
    write_data(bytes, i);
    meet(kind);
    begin = MPI_Wtime();
    kind->run(bytes, 1);
    total += MPI_Wtime() - begin;
  }
  return (kind->run == held ? in_sends : total) / calls;
}

static void report(const char* what, int bytes, int pairs, const double* seconds, int count) {
  printf("{\"what\": \"%s\", \"bytes\": %d, \"pairs\": %d, \"seconds\": [", what, bytes, pairs);
  for (int r = 0; r < count; ++r) printf("%s%.4e", r ? ", " : "", seconds[r]);
  printf("]}\n");
  fflush(stdout);
}

static int has(const struct row* row, int k) {
  return row->bytes <= row->kinds[k].max_bytes && row->bytes >= row->kinds[k].min_bytes;
}

/* A batch of each kind; the first two rounds, below 0, tell how many calls fill a batch. */
static void run_round(struct row* row, int r) {
  for (int k = 0; k < row->count; ++k) {
    const struct kind* const kind = &row->kinds[k];
    if (!has(row, k)) continue;
    if (r == -2) row->calls[k] = 2;
    PMPI_Barrier(MPI_COMM_WORLD);
    double time = 0, slowest = 0;
    if (kind->takes_part) time = batch(kind, row->bytes, row->calls[k]);
    PMPI_Allreduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (r >= 0) {
      row->seconds[k][r] = slowest / kind->per_call;
      continue;
    }
    row->calls[k] = slowest > 0 ? (long)(BATCH / slowest) : 1;
    if (row->calls[k] < 2) row->calls[k] = 2;
    if (row->calls[k] > MAX_CALLS) row->calls[k] = MAX_CALLS;
  }
}

/* Whether a send to a rank that is late ends before that rank comes. */
static void measure_waits(int bytes) {
  double seconds[MAX_ROUNDS] = {0};
  for (int r = 0; r < LATE_ROUNDS; ++r) {
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (partner >= 0 && first) {
      MPI_Send(a, bytes, MPI_BYTE, partner, 5, far);
      seconds[r] = MPI_Wtime() - begin > LATE / 2;
    } else if (partner >= 0) {
      while (MPI_Wtime() - begin < LATE) continue;
      MPI_Recv(b, bytes, MPI_BYTE, partner, 5, far, MPI_STATUS_IGNORE);
    }
    PMPI_Bcast(&seconds[r], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) report("waits", bytes, 1, seconds, LATE_ROUNDS);
}

/* Pairs of ranks of two nodes: the i-th of one with the i-th of the other; of one node: 0 with 1. Returns how many. */
static int find_partners(void) {
  MPI_Comm node, leaders;
  int place, size, number = 0, nodes = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  PMPI_Comm_rank(node, &place);
  PMPI_Comm_size(node, &size);
  PMPI_Comm_split(MPI_COMM_WORLD, place == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
  if (place == 0) {
    PMPI_Comm_rank(leaders, &number);
    PMPI_Comm_size(leaders, &nodes);
    MPI_Comm_free(&leaders);
  }
  PMPI_Bcast(&number, 1, MPI_INT, 0, node);
  PMPI_Bcast(&nodes, 1, MPI_INT, 0, node);
  int pairs = 1;
  if (nodes == 1) {
    partner = rank < 2 ? 1 - rank : -1;
    first = rank == 0;
  } else {
    int mine[2] = {number, place}, *all = malloc(sizeof(int) * 2 * ranks);
    PMPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks && number < 2; ++r)
      if (all[2 * r] == 1 - number && all[2 * r + 1] == place) partner = r;
    free(all);
    first = number == 0;
    const int paired = partner >= 0 && first;
    PMPI_Allreduce(&paired, &pairs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  PMPI_Comm_split(node, place < 2 && number == 0 && size > 1 ? 0 : MPI_UNDEFINED, place, &node_pair);
  if (rank == 0) printf("{\"what\": \"nodes\", \"bytes\": %d, \"pairs\": %d, \"seconds\": []}\n", nodes, pairs);
  MPI_Comm_free(&node);
  return pairs;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  rounds = argc == 2 ? atoi(argv[1]) : 0;
  if (rounds < 1 || rounds > MAX_ROUNDS || ranks < 2) {
    if (rank == 0)
      fprintf(stderr, "usage: costs ROUNDS   (1 to %d; at least two ranks; started by omnes measure)\n", MAX_ROUNDS);
    MPI_Finalize();
    return 2;
  }
  a = aligned_alloc(4096, 2 * MAX_BYTES);
  b = aligned_alloc(4096, 2 * MAX_BYTES);
  memset(a, 0, 2 * MAX_BYTES);
  memset(b, 0, 2 * MAX_BYTES);
  far = MPI_COMM_WORLD;
  const int pairs = find_partners(), messages = partner >= 0, near = node_pair != MPI_COMM_NULL;
  if (near) {
    publishing = with(node_pair, "omnes_bcast", "linear");
    many = with(node_pair, "omnes_bcast", "linear:segment=32");
    gathering = with(node_pair, "omnes_gather", "linear");
    swapping = with(node_pair, "omnes_allgather", "ring");
    reducing = with(node_pair, "omnes_reduce", "linear");
  }
  const int alone = messages && (rank == 0 || partner == 0); /* in the pair of rank 0 */
  const struct kind kinds[] = {
      {"one_way", one_way, MPI_COMM_SELF, alone, 2, MAX_BYTES, 0},
      {"exchange", exchange, MPI_COMM_SELF, alone, 1, MAX_BYTES, 0},
      {"held", held, MPI_COMM_SELF, alone, 1, MAX_BYTES, 2 * SMALL},
      {"burst", burst, MPI_COMM_SELF, alone, BURST, 64, 0},
      {"call", call, MPI_COMM_SELF, rank == 0, 1, 64, 0},
      {"publish", publish, node_pair, near, 2, MAX_BYTES, 0},
      {"many", in_pieces, node_pair, near, 2, BURST * PIECE, BURST * PIECE},
      {"pair", pair, node_pair, near, 2, MAX_BYTES, 0},
      {"swap", swap, node_pair, near, 1, MAX_BYTES, 0},
      {"combine", combine, node_pair, near, 2, MAX_BYTES, 8},
  };
  const int count = sizeof kinds / sizeof *kinds;
  static const int sizes[] = {0,        8,        64,       256,       1 << 10,   2 << 10,   4 << 10, 8 << 10, 16 << 10,
                              32 << 10, 64 << 10, 92 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20};
  enum { SIZES = sizeof sizes / sizeof *sizes, DOUBLINGS = 6 };
  static struct row rows[SIZES * (1 + DOUBLINGS)];
  static struct kind together[DOUBLINGS][WIDEST];
  int filled = 0, levels = 0, place = 0;
  const int begins = messages && first;
  PMPI_Exscan(&begins, &place, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) place = 0;
  for (int k = 2; k <= pairs && k <= MAX_PAIRS; k *= 2, ++levels) {
    int here = begins && place < k, theirs = 0;
    if (messages) PMPI_Sendrecv(&here, 1, MPI_INT, partner, 6, &theirs, 1, MPI_INT, partner, 6, far, MPI_STATUS_IGNORE);
    for (int what = 0; what < WIDEST; ++what) {
      together[levels][what] = kinds[what];
      together[levels][what].takes_part = here || theirs;
    }
  }
  for (int s = 0; s < SIZES; ++s) {
    rows[filled++] = (struct row){.kinds = kinds, .count = count, .bytes = sizes[s], .pairs = 1};
    for (int level = 0; level < levels; ++level)
      rows[filled++] = (struct row){.kinds = together[level], .count = WIDEST, .bytes = sizes[s], .pairs = 2 << level};
  }
  for (int r = -2; r < rounds; ++r) {
    for (int i = 0; i < filled; ++i) run_round(&rows[i], r);
    if (rank == 0) printf("{\"what\": \"round\", \"bytes\": %d, \"pairs\": 0, \"seconds\": []}\n", r);
    fflush(stdout);
  }
  for (int i = 0; rank == 0 && i < filled; ++i)
    for (int k = 0; k < rows[i].count; ++k)
      if (has(&rows[i], k) && rows[i].kinds[k].takes_part)
        report(rows[i].kinds[k].what, rows[i].bytes, rows[i].pairs, rows[i].seconds[k], rounds);
  for (int s = 0; s < SIZES; ++s) measure_waits(sizes[s]);
  if (near) {
    MPI_Comm* const ours[] = {&publishing, &many, &gathering, &swapping, &reducing, &node_pair};
    for (unsigned i = 0; i < sizeof ours / sizeof *ours; ++i) MPI_Comm_free(ours[i]);
  }
  MPI_Finalize();
  return 0;
}
