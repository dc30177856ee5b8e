// Receivers that say how much there is room for, as of messages, where MPI wants the counts of what is sent: gathered and scattered parts
// that are shorter arrive, and nothing is written behind them. Of equal parts all are as short.
#include "check.h"

enum { room = 1000, most = 16 };

static int value(int rank, int i) { return rank * 10000 + i; }

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  static int parts[most * room], own[room];
  for (int round = 0; round < 8; ++round) {
    const int root = round % ranks, length = round < 4 ? 3 : 700;
    int counts[most], starts[most], exact[most];
    for (int r = 0; r < ranks; ++r) {
      counts[r] = room;
      exact[r] = length + r;
      starts[r] = r * room;
    }
    for (int i = 0; i < room; ++i) own[i] = i < exact[rank] ? value(rank, i) : -2;
    for (int i = 0; i < most * room; ++i) parts[i] = -1;
    MPI_Gatherv(own, exact[rank], MPI_INT, parts, counts, starts, MPI_INT, root, MPI_COMM_WORLD);
    for (int r = 0; r < ranks && rank == root; ++r)
      for (int i = 0; i < room; ++i) {
        const int wanted = i < exact[r] ? value(r, i) : -1;
        if (parts[starts[r] + i] != wanted) fail("gathered of %d at %d: %d", r, i, parts[starts[r] + i]);
      }
    for (int r = 0; r < ranks; ++r)
      for (int i = 0; i < exact[r]; ++i) parts[starts[r] + i] = value(r, i);
    for (int i = 0; i < room; ++i) own[i] = -1;
    MPI_Scatterv(parts, exact, starts, MPI_INT, own, room, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < room; ++i)
      if (own[i] != (i < exact[rank] ? value(rank, i) : -1)) fail("scattered, at %d: %d", i, own[i]);
  }
  // Of equal parts, as short as MPIs send them one by one.
  for (int round = 0; round < 6; ++round) {
    const int root = round % ranks, length = 3 + round / 3;
    MPI_Request request;
    for (int i = 0; i < room; ++i) own[i] = i < length ? value(rank, i) : -2;
    for (int form = 0; form < 4; ++form) {
      for (int i = 0; i < most * room; ++i) parts[i] = -1;
      if (form == 0) MPI_Gather(own, length, MPI_INT, parts, 2 * length, MPI_INT, root, MPI_COMM_WORLD);
      if (form == 1) MPI_Igather(own, length, MPI_INT, parts, 2 * length, MPI_INT, root, MPI_COMM_WORLD, &request);
      if (form == 2) MPI_Allgather(own, length, MPI_INT, parts, 2 * length, MPI_INT, MPI_COMM_WORLD);
      if (form == 3) MPI_Iallgather(own, length, MPI_INT, parts, 2 * length, MPI_INT, MPI_COMM_WORLD, &request);
      if (form % 2 == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int i = 0; i < ranks * 2 * length && (rank == root || form >= 2); ++i) {
        const int r = i / (2 * length), place = i % (2 * length);
        if (parts[i] != (place < length ? value(r, place) : -1)) fail("form %d: of %d: %d", form, r, parts[i]);
      }
    }
    for (int r = 0; r < ranks; ++r)
      for (int i = 0; i < length; ++i) parts[r * length + i] = value(r, i);
    for (int i = 0; i < room; ++i) own[i] = -1;
    MPI_Scatter(parts, length, MPI_INT, own, 2 * length, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < room; ++i)
      if (own[i] != (i < length ? value(rank, i) : -1)) fail("scattered equally, at %d: %d", i, own[i]);
  }
  return finish();
}
