// Ranks that get to know each other by a port or a socket: several times, each time with all that they can do together.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

enum { rounds = 3, calls = 5, count = 300 };

static void expect(int got, int wanted, const char* operation, int round) {
  if (got != wanted) fail("%s in round %d: %d, not %d", operation, round, got, wanted);
}

static void use_between(MPI_Comm inter, int accepts, int round) {
  int rank, others;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_remote_size(inter, &others);
  int* all = calloc((size_t)others * count, sizeof(int));
  int mine[count];
  for (int call = 0; call < calls; ++call) {
    int sum = -1, root = accepts ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    for (int i = 0; i < count; ++i) mine[i] = 100 * accepts + rank + call;
    MPI_Request request;
    MPI_Allreduce(mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    expect(sum, others * (others - 1) / 2 + others * (100 * !accepts + call), "Allreduce between", round);
    MPI_Iallreduce(mine, &sum, 1, MPI_INT, MPI_MAX, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum, 100 * !accepts + others - 1 + call, "Iallreduce between", round);
    MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, inter);
    for (int r = 0; r < others; ++r) expect(all[r * count + 7], 100 * !accepts + r + call, "Allgather between", round);
    MPI_Bcast(mine, count, MPI_INT, root, inter);
    expect(mine[count - 1], accepts ? 100 + rank + call : 100 + call, "Bcast between", round);
    MPI_Barrier(inter);
  }
  free(all);
}

static void use_merged(MPI_Comm merged, int round) {
  MPI_Comm made;
  int p, rank, sum = -1, one = 1;
  MPI_Comm_size(merged, &p);
  MPI_Comm_rank(merged, &rank);
  int* mine = calloc((size_t)p * count, sizeof(int));
  int* all = calloc((size_t)p * count, sizeof(int));
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < p * count; ++i) mine[i] = 100 * rank + i / count + call;
    MPI_Alltoall(mine, count, MPI_INT, all, count, MPI_INT, merged);
    for (int r = 0; r < p; ++r) expect(all[r * count + 9], 100 * r + rank + call, "Alltoall", round);
    MPI_Reduce(mine, all, count, MPI_INT, MPI_SUM, call % p, merged);
    if (rank == call % p) expect(all[0], 100 * (p * (p - 1) / 2) + p * call, "Reduce", round);
  }
  MPI_Comm_dup(merged, &made);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
  expect(sum, p, "Allreduce of a duplicate", round);
  MPI_Comm_free(&made);
  MPI_Comm_split(merged, rank % 2, 0, &made);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
  expect(sum, (p + !(rank % 2)) / 2, "Allreduce of a part", round);
  MPI_Comm_free(&made);
  free(mine);
  free(all);
}

static void use(MPI_Comm inter, int accepts, int round) {
  MPI_Comm merged;
  use_between(inter, accepts, round);
  MPI_Intercomm_merge(inter, !accepts, &merged);
  use_merged(merged, round);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&inter);
}

static void meet(MPI_Comm comm, int accepts, const char* port) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm inter;
    if (accepts)
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, &inter);
    else
      MPI_Comm_connect(port, MPI_INFO_NULL, 0, comm, &inter);
    use(inter, accepts, round);
  }
}

// Two processes: who listens tells the other by `tell` where.
static void join(int listens, int (*tell)(int number, const char* by), const char* by) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int made = socket(AF_INET, SOCK_STREAM, 0), joined = made;
  if (listens) {
    if (bind(made, (struct sockaddr*)&address, length) || listen(made, 1)) fail("no socket");
    getsockname(made, (struct sockaddr*)&address, &length);
    tell(ntohs(address.sin_port), by);
    joined = accept(made, NULL, NULL);
  } else {
    address.sin_port = htons(tell(0, by));
    if (connect(made, (struct sockaddr*)&address, length)) fail("nobody listens");
  }
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm inter;
    MPI_Comm_join(joined, &inter);
    use(inter, listens, round);
  }
  if (listens) close(joined);
  close(made);
}

static int tell_by_message(int number, const char* by) {
  (void)by;
  if (number)
    MPI_Send(&number, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
  else
    MPI_Recv(&number, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return number;
}

// A word that another job reads when it is there.
static void write_word(const char* file, const char* word) {
  char first[1000];
  snprintf(first, sizeof first, "%s.first", file);
  FILE* out = fopen(first, "w");
  fputs(word, out);
  fclose(out);
  rename(first, file);
}
static void read_word(const char* file, char* word, int size) {
  FILE* in;
  while (!(in = fopen(file, "r"))) usleep(1000);
  if (!fgets(word, size, in)) fail("nothing in %s", file);
  fclose(in);
}
static int tell_by_file(int number, const char* file) {
  char word[20];
  snprintf(word, sizeof word, "%d", number);
  if (number) write_word(file, word);
  read_word(file, word, sizeof word);
  return atoi(word);
}

// Usage: ports halves         (of MPI_COMM_WORLD meet by a port)
//        ports join           (its first two ranks, by a socket)
//        ports accept FILE    (meets another job by a port, whose name is written there)
//        ports connect FILE   (the other job)
//        ports joins FILE, ports joined FILE   (first ranks of two jobs, by a socket)
//        ports spawns         (starts another job, ports connects PORT, and meets it by a port when they have parted)
int main(int argc, char** argv) {
  char port[MPI_MAX_PORT_NAME] = "";
  int p, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* const how = argc > 1 ? argv[1] : "";
  const char* const what = argc > 2 ? argv[2] : "";
  const int opens = rank == 0 && (!strcmp(how, "halves") || !strcmp(how, "accept") || !strcmp(how, "spawns"));
  if (opens) MPI_Open_port(MPI_INFO_NULL, port);
  if (!strcmp(how, "halves")) {
    MPI_Comm half;
    const int accepts = rank < (p + 1) / 2;
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, accepts, rank, &half);
    meet(half, accepts, port);
    MPI_Comm_free(&half);
  } else if (!strcmp(how, "join")) {
    if (rank < 2) join(rank == 0, tell_by_message, "");
  } else if (!strcmp(how, "accept")) {
    if (rank == 0) write_word(what, port);
    meet(MPI_COMM_WORLD, 1, port);
  } else if (!strcmp(how, "connect")) {
    if (rank == 0) read_word(what, port, sizeof port);
    meet(MPI_COMM_WORLD, 0, port);
  } else if (!strcmp(how, "joins") || !strcmp(how, "joined")) {
    if (rank == 0) join(!strcmp(how, "joins"), tell_by_file, what);
  } else if (!strcmp(how, "spawns")) {
    MPI_Comm started;
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    char* words[] = {"connects", port, NULL};
    MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &started, MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&started);
    meet(MPI_COMM_WORLD, 1, port);
  } else {
    MPI_Comm parents;
    MPI_Comm_get_parent(&parents);
    MPI_Comm_disconnect(&parents);
    meet(MPI_COMM_WORLD, 0, what);
    MPI_Finalize();
    return failures > 0;
  }
  if (opens) MPI_Close_port(port);
  return finish();
}
