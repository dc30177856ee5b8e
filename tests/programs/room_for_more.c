// Receivers that say how much there is room for, as of messages, where MPI wants the counts of what is sent: gathered and scattered parts
// that are shorter arrive, and nothing is written behind them.
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
  return finish();
}
