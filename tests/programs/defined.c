// Datatypes of all constructors, nested and at random, made around one call and freed after it, so that handles come back for
// others: a broadcast and a gather do what messages with the same types do.
#include "check.h"

enum { BYTES = 1 << 16, ROUNDS = 3000 };

static unsigned long seed = 88172645463325252UL;  // alike on all ranks
static int rnd(int n) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (int)(seed % (unsigned)n);
}

static MPI_Datatype simple(void) {
  const MPI_Datatype all[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_SHORT, MPI_DOUBLE_INT};
  return all[rnd(5)];
}

/// A new type of elements of `old`, which may not be committed.
static MPI_Datatype of(MPI_Datatype old) {
  MPI_Datatype made;
  MPI_Aint lb, extent, bytes[2];
  MPI_Type_get_extent(old, &lb, &extent);
  const int length = rnd(3) + (rnd(8) > 0), count = rnd(4);
  const int back = rnd(2);
  int lengths[2] = {rnd(3), rnd(3)}, displs[2] = {0, 4 + rnd(2)};
  switch (rnd(10)) {
    case 0:
    case 1: MPI_Type_contiguous(count, old, &made); break;
    case 2:
    case 3: MPI_Type_vector(count, length, length + rnd(2), old, &made); break;
    case 4: MPI_Type_create_hvector(count, length, length * extent + 8 * rnd(2), old, &made); break;
    case 5: MPI_Type_create_resized(old, 0, extent + 8 * rnd(2), &made); break;
    case 6: MPI_Type_indexed(2, lengths, displs, old, &made); break;
    case 7: MPI_Type_create_indexed_block(2, length, displs, old, &made); break;
    case 8:
      bytes[back] = 8 * rnd(2), bytes[!back] = 2 * extent + 8 + 8 * rnd(2);
      MPI_Type_create_hindexed(2, lengths, bytes, old, &made);
      break;
    default:
      bytes[0] = 0, bytes[1] = 8 * extent;
      MPI_Type_create_struct(2, lengths, bytes, (MPI_Datatype[]){old, MPI_INT}, &made);
  }
  return made;
}

static MPI_Datatype any(void) {
  MPI_Datatype type = of(simple());
  for (int depth = rnd(3); depth > 0; --depth) {
    MPI_Datatype outer;
    if (rnd(2)) MPI_Type_commit(&type);
    if (rnd(8) == 0)
      MPI_Type_dup(type, &outer);
    else
      outer = of(type);
    MPI_Type_free(&type);
    type = outer;
  }
  MPI_Type_commit(&type);
  return type;
}

static unsigned char given[BYTES], got[4 * BYTES], wanted[4 * BYTES];

/// Two elements of which some hosts round up the extent.
static void rounded_up(int by_list) {
  const int lengths[] = {1, 1};
  const MPI_Aint bytes[] = {0, 6};
  MPI_Datatype type;
  if (by_list)
    MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type);
  else
    MPI_Type_create_hvector(2, 1, bytes[1], MPI_INT, &type);
  MPI_Type_commit(&type);
  memset(got, 255, 64);
  memset(wanted, 255, 64);
  MPI_Gather(given, 2, type, got, 2, type, 0, MPI_COMM_SELF);
  MPI_Sendrecv(given, 2, type, 0, 2, wanted, 2, type, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  if (memcmp(got, wanted, 64) != 0) fail("two elements of an extent that may be rounded up, %d", by_list);
  MPI_Bcast(given, 2, type, 0, MPI_COMM_WORLD);
  memset(got, 255, 64);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Sendrecv(given, 2, type, 0, 2, got, 2, type, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  for (int i = 0; i < 64; ++i)
    if (got[i] != 255 && got[i] != (unsigned char)(i * 7)) fail("byte %d of the root's is %d", i, got[i]);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  for (int i = 0; i < BYTES; ++i) given[i] = (unsigned char)(i * 7 + rank);
  rounded_up(0);
  rounded_up(1);
  for (int i = 0; i < BYTES; ++i) given[i] = (unsigned char)(i * 7 + rank);
  for (int round = 0; round < ROUNDS && failures == 0; ++round) {
    MPI_Datatype type = any();
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    if (extent <= 0 || extent > BYTES / 8) {
      MPI_Type_free(&type);
      continue;
    }
    const int count = rnd(3), root = rnd(p);
    memset(got, 255, sizeof got);
    memset(wanted, 255, sizeof wanted);
    if (round % 2) {
      memcpy(got, given, BYTES);
      memcpy(wanted, given, BYTES);
      MPI_Bcast(got, count, type, root, MPI_COMM_WORLD);
      for (int r = 0; r < p && rank == root; ++r)
        if (r != root) MPI_Send(wanted, count, type, r, 1, MPI_COMM_WORLD);
      if (rank != root) MPI_Recv(wanted, count, type, root, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Gather(given, count, type, got, count, type, root, MPI_COMM_WORLD);
      if (rank != root) MPI_Send(given, count, type, root, 1, MPI_COMM_WORLD);
      for (int r = 0; r < p && rank == root; ++r) {
        unsigned char* const part = wanted + r * count * extent;
        if (r != root)
          MPI_Recv(part, count, type, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
          MPI_Sendrecv(given, count, type, 0, 2, part, count, type, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
      }
    }
    if (memcmp(got, wanted, sizeof got) != 0) fail("round %d, %s", round, round % 2 ? "bcast" : "gather");
    MPI_Type_free(&type);
  }
  return finish();
}
