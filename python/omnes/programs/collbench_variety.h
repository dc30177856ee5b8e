/* What collbench does beside repeating one call: datatypes and communicators made around it, another operation pending,
twenty different calls, a program that touches memory of its own between calls.

How: each is a form of a call, or takes the place of an operation; all share data and checks with the others. What is
made for a call is made, used and freed within the time. Of many communicators the next one serves each call; each of
them has served one before the clock starts. */
enum { COMMUNICATORS = 64, TURNS = 20, LINE = 64 };

/* Short and long ones, rooted and not, of three types. */
static const struct turn {
  enum operation operation;
  enum type type;
  size_t bytes;
  enum counts counts;
} turns[TURNS] = {
    {ALLREDUCE, DOUBLE, 8, EQUAL},    {BCAST, INT, 64, EQUAL},        {REDUCE, DOUBLE, 24, EQUAL},
    {ALLGATHER, INT, 8, EQUAL},       {BARRIER, INT, 0, EQUAL},       {ALLREDUCE, INT, 400, EQUAL},
    {BCAST, DOUBLE, 8, EQUAL},        {GATHER, DOUBLE, 16, EQUAL},    {SCAN, INT, 4, EQUAL},
    {ALLTOALL, INT, 12, EQUAL},       {ALLREDUCE, FLOAT, 12, EQUAL},  {BCAST, FLOAT, 4096, EQUAL},
    {SCATTER, INT, 48, EQUAL},        {ALLGATHERV, INT, 80, UNEQUAL}, {REDUCE_SCATTER_BLOCK, DOUBLE, 32, EQUAL},
    {ALLREDUCE, DOUBLE, 1000, EQUAL}, {GATHERV, INT, 40, UNEQUAL},    {EXSCAN, DOUBLE, 8, EQUAL},
    {ALLTOALLV, INT, 100, UNEQUAL},   {REDUCE, FLOAT, 200, EQUAL},
};

static MPI_Comm communicators[COMMUNICATORS];
static int communicators_open, next_communicator;
static int checking, wrong_communicator;
static volatile char* area; /* that the program touches */
static struct {
  double in, out;
  long number;
} pending;

/* Writes to each line of so much memory. */
static void touch(size_t bytes) {
  for (size_t i = 0; i < bytes; i += LINE) ++area[i];
}

/* Data for the next call: new ones in the same buffers, or those of the next set. Returns their number. */
static long next_data(struct job* job, long call) {
  if (job->sets > 1) {
    use_set(job, (job->set + 1) % job->sets);
    return (long)job->set;
  }
  touch(job->touched);
  fill(job, call);
  for (int k = 0; job->operation == TWENTY_CALLS && k < TURNS; ++k) fill(&job->turns[k], call);
  return call;
}

static void call_on(struct job* job, MPI_Comm comm, int root) {
  const MPI_Comm usual = job->comm;
  job->comm = comm;
  call(job, BLOCKING, root, NULL);
  job->comm = usual;
}

static void call_on_new(struct job* job, enum form form, int root) {
  MPI_Comm fresh;
  if (form == DUP)
    MPI_Comm_dup(job->comm, &fresh);
  else
    MPI_Comm_split(job->comm, 0, rank, &fresh);
  if (checking) {
    int alike;
    MPI_Comm_compare(job->comm, fresh, &alike);
    wrong_communicator |= alike != MPI_CONGRUENT;
  }
  call_on(job, fresh, root);
  MPI_Comm_free(&fresh);
}

static void call_with_new_type(struct job* job, int root) {
  const MPI_Datatype usual = job->datatype;
  const size_t count = job->count;
  MPI_Type_contiguous((int)count, usual, &job->datatype);
  MPI_Type_commit(&job->datatype);
  job->count = 1;
  call(job, BLOCKING, root, NULL);
  MPI_Type_free(&job->datatype);
  job->datatype = usual;
  job->count = count;
}

static void call_beside_pending(struct job* job, int root) {
  MPI_Request request;
  pending.in = value(rank, 0, ++pending.number);
  MPI_Iallreduce(&pending.in, &pending.out, 1, MPI_DOUBLE, MPI_SUM, job->comm, &request);
  call(job, BLOCKING, root, NULL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void run_varied(struct job* job, enum form form, int root) {
  switch (form) {
    case NEW_TYPE: call_with_new_type(job, root); break;
    case DUP:
    case SPLIT: call_on_new(job, form, root); break;
    case MANY_COMMUNICATORS:
      call_on(job, communicators[next_communicator], root);
      next_communicator = (next_communicator + 1) % COMMUNICATORS;
      break;
    case BESIDE_PENDING: call_beside_pending(job, root); break;
    default:
      for (int k = 0; k < TURNS; ++k) call(&job->turns[k], BLOCKING, (root + k) % ranks, NULL);
  }
}

static void poison(struct job* job) {
  memset(job->recv.buffer, 0xff, job->recv.bytes);
  for (int k = 0; job->operation == TWENTY_CALLS && k < TURNS; ++k)
    memset(job->turns[k].recv.buffer, 0xff, job->turns[k].recv.bytes);
  pending.out = -1;
}

/* As first_wrong; of what is no part of a result, 0. */
static long first_wrong_of(const struct job* job, enum form form, int root, long number) {
  double sum = 0;
  for (int r = 0; r < ranks; ++r) sum += value(r, 0, pending.number);
  if (wrong_communicator || (form == BESIDE_PENDING && pending.out != sum)) return 0;
  if (job->operation != TWENTY_CALLS) return first_wrong(job, root, number);
  for (int k = 0; k < TURNS; ++k) {
    const long wrong = first_wrong(&job->turns[k], (root + k) % ranks, number);
    if (wrong >= 0) return wrong;
  }
  return -1;
}

/* Whether a call can be varied so. */
static int can_vary(enum operation o, size_t bytes, enum counts counts, enum form form, int cold) {
  const int has_parts = o != BARRIER && o < NOTHING, varies = counts >= RANDOM || form > PERSISTENT || o >= NOTHING;
  if (varies && cold) return 0;
  if (counts >= RANDOM && (!has_parts || bytes == 0 || form == PERSISTENT)) return 0;
  if (counts == SPARSE && !has_counts(o)) return 0;
  if (form == NEW_TYPE && (!has_parts || has_counts(o) || traits[o].reduces)) return 0;
  if (form >= DUP && form <= MANY_COMMUNICATORS && traits[o].receives == NEAR) return 0;
  if (o == NOTHING) return form == DUP || form == SPLIT;
  return o != TWENTY_CALLS || form == BLOCKING;
}

/* Of buffers such as touching-256K; of others none. */
static size_t bytes_touched(const char* buffers) {
  size_t number = 0;
  char unit = 0;
  sscanf(buffers, "touching-%zu%c", &number, &unit);
  const size_t bytes = unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
  free((void*)area);
  area = must(calloc(bytes + 1, 1), "memory to touch");
  return bytes;
}

static void open_turns(struct job* job) {
  job->turns = must(calloc(TURNS, sizeof(struct job)), "twenty calls");
  for (int k = 0; k < TURNS; ++k) {
    struct job* const turn = &job->turns[k];
    turn->comm = job->comm;
    turn->ring = job->ring;
    turn->datatypes = must(calloc(ranks > NEIGHBORS ? ranks : NEIGHBORS, sizeof(MPI_Datatype)), "datatypes");
    set_up(turn, turns[k].operation, turns[k].type, turns[k].bytes, turns[k].counts, SUM, 0);
  }
}

/* What the form and the operation need is there, and nothing else. */
static void set_up_variety(struct job* job, enum form form) {
  const int many = form == MANY_COMMUNICATORS;
  if (job->operation == TWENTY_CALLS && job->turns == NULL) open_turns(job);
  for (int i = 0; i < COMMUNICATORS && many != communicators_open; ++i)
    if (many)
      MPI_Comm_dup(job->comm, &communicators[i]);
    else
      MPI_Comm_free(&communicators[i]);
  if (many && !communicators_open)
    for (int i = 0; i < COMMUNICATORS; ++i) call_on(job, communicators[i], 0);
  communicators_open = many;
}
