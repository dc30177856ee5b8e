// Datatypes at their edges: types without gaps by every constructor, and such that only look so; empty ones; ones that
// several threads meet first. What is received is compared with what MPI_Pack and MPI_Unpack make of it.
#include <pthread.h>

#include "check.h"

enum { most = 64, rounds = 200 };

static int rank, p;

static int same(const int* a, const int* b, int n) { return memcmp(a, b, n * sizeof *a) == 0; }

static void move_elements(MPI_Datatype type, const char* name) {
  int sent[most], packed[most], expected[most], got[most], all[8 * most], position = 0, bytes = 0, size = 0;
  const int count = 2;
  MPI_Type_size(type, &size);
  bytes = count * size;
  for (int i = 0; i < most; ++i) {
    sent[i] = 100 + i;
    got[i] = expected[i] = -1;
  }
  MPI_Pack(sent + 8, count, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
  position = 0;
  if (bytes > 0) MPI_Unpack(packed, bytes, &position, expected + 8, count, type, MPI_COMM_WORLD);
  MPI_Bcast(rank == 0 ? sent + 8 : got + 8, count, type, 0, MPI_COMM_WORLD);
  if (rank > 0 && !same(got, expected, most)) fail("bcast of %s", name);
  for (int i = 0; i < most; ++i) got[i] = -1;
  MPI_Request request;
  MPI_Ibcast(rank == p - 1 ? sent + 8 : got + 8, count, type, p - 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank < p - 1 && !same(got, expected, most)) fail("ibcast of %s", name);
  MPI_Allgather(sent + 8, count, type, all, bytes / (int)sizeof(int), MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < p; ++r)
    if (!same(all + r * bytes / (int)sizeof(int), packed, bytes / (int)sizeof(int))) fail("allgather of %s", name);
}

static void use(MPI_Datatype type, const char* name) {
  MPI_Type_commit(&type);
  move_elements(type, name);
  MPI_Datatype twice;
  MPI_Type_contiguous(2, type, &twice);
  MPI_Type_commit(&twice);
  move_elements(twice, name);
  MPI_Type_free(&twice);
  MPI_Type_free(&type);
}

static void constructors(void) {
  MPI_Datatype t, inner;
  const int one_two[] = {1, 2}, two_one[] = {2, 1}, no_two[] = {0, 2};
  const int in_row[] = {0, 1}, apart[] = {0, 2}, swapped[] = {2, 0}, late[] = {1, 2}, far_first[] = {5, 0};
  const MPI_Aint bytes_in_row[] = {0, 4}, bytes_apart[] = {0, 8}, bytes_swapped[] = {8, 0};
  MPI_Datatype ints[] = {MPI_INT, MPI_INT};
#define USE(...) (__VA_ARGS__, use(t, #__VA_ARGS__))
  USE(MPI_Type_vector(3, 2, 2, MPI_INT, &t));
  USE(MPI_Type_vector(3, 2, 3, MPI_INT, &t));
  USE(MPI_Type_vector(1, 2, 7, MPI_INT, &t));
  USE(MPI_Type_vector(2, 1, -1, MPI_INT, &t));
  USE(MPI_Type_create_hvector(3, 2, 8, MPI_INT, &t));
  USE(MPI_Type_create_hvector(3, 1, 8, MPI_INT, &t));
  USE(MPI_Type_indexed(2, one_two, in_row, MPI_INT, &t));
  USE(MPI_Type_indexed(2, one_two, apart, MPI_INT, &t));
  USE(MPI_Type_indexed(2, one_two, swapped, MPI_INT, &t));
  USE(MPI_Type_indexed(2, two_one, swapped, MPI_INT, &t));
  USE(MPI_Type_indexed(2, one_two, late, MPI_INT, &t));
  USE(MPI_Type_indexed(2, no_two, far_first, MPI_INT, &t));
  USE(MPI_Type_create_hindexed(2, one_two, bytes_in_row, MPI_INT, &t));
  USE(MPI_Type_create_hindexed(2, one_two, bytes_swapped, MPI_INT, &t));
  USE(MPI_Type_create_indexed_block(2, 1, in_row, MPI_INT, &t));
  USE(MPI_Type_create_indexed_block(2, 2, swapped, MPI_INT, &t));
  USE(MPI_Type_create_hindexed_block(2, 1, bytes_in_row, MPI_INT, &t));
  USE(MPI_Type_create_hindexed_block(2, 2, bytes_swapped, MPI_INT, &t));
  USE(MPI_Type_create_struct(2, one_two, bytes_in_row, ints, &t));
  USE(MPI_Type_create_struct(2, one_two, bytes_apart, ints, &t));
  USE(MPI_Type_create_struct(2, two_one, bytes_swapped, ints, &t));
  USE(MPI_Type_create_resized(MPI_INT, 0, 4, &t));
  USE(MPI_Type_create_resized(MPI_INT, 0, 8, &t));
  USE(MPI_Type_create_resized(MPI_INT, -4, 4, &t));
  MPI_Type_vector(2, 2, 2, MPI_INT, &inner);
  MPI_Datatype mixed[] = {inner, MPI_INT};
  const MPI_Aint after[] = {0, 16};
  const int ones[] = {1, 1};
  USE(MPI_Type_create_struct(2, ones, after, mixed, &t));
  USE(MPI_Type_vector(2, 1, 1, inner, &t));
  USE(MPI_Type_vector(2, 1, 2, inner, &t));
  MPI_Type_free(&inner);
}

static void empty_types(void) {
  MPI_Datatype nothing;
  int own = rank, all[64], counts[64], displs[64], n = 0;
  MPI_Type_indexed(0, all, all, MPI_INT, &nothing);
  use(nothing, "an empty type");
  MPI_Type_vector(0, 1, 2, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  for (int r = 0; r < p; ++r) {
    counts[r] = r != 1 % p;
    displs[r] = r;
    all[r] = -1;
  }
  if (rank == 1 % p)
    MPI_Gatherv(&own, 1, nothing, all, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
  else
    MPI_Gatherv(&own, 1, MPI_INT, all, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
  for (int r = 0; r < p && rank == 0; ++r) n += all[r] != (counts[r] ? r : -1);
  if (n) fail("gatherv with an empty type: %d wrong", n);
  MPI_Type_free(&nothing);
}

struct job {
  MPI_Comm comm;
  int number, wrong;
};
static pthread_barrier_t together;
static MPI_Datatype shared_type;

static void* meet(void* argument) {
  struct job* job = argument;
  for (int i = 0; i < rounds; ++i) {
    if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD) {
      if (i > 0) MPI_Type_free(&shared_type);
      MPI_Type_vector(2, 1, 2, MPI_INT, &shared_type);
      MPI_Type_commit(&shared_type);
    }
    pthread_barrier_wait(&together);
    int data[] = {-1, -1, -1};
    if (rank == 0) data[0] = i, data[2] = job->number;
    MPI_Bcast(data, 1, shared_type, 0, job->comm);
    job->wrong += data[0] != i || data[1] != -1 || data[2] != job->number;
  }
  return NULL;
}

static void first_met_by_two_threads(void) {
  struct job jobs[2];
  pthread_t threads[2];
  pthread_barrier_init(&together, NULL, 2);
  for (int t = 0; t < 2; ++t) {
    jobs[t] = (struct job){MPI_COMM_NULL, t, 0};
    MPI_Comm_dup(MPI_COMM_WORLD, &jobs[t].comm);
  }
  for (int t = 0; t < 2; ++t) pthread_create(&threads[t], NULL, meet, &jobs[t]);
  for (int t = 0; t < 2; ++t) {
    pthread_join(threads[t], NULL);
    if (jobs[t].wrong) fail("%d wrong results of thread %d", jobs[t].wrong, t);
    MPI_Comm_free(&jobs[t].comm);
  }
  MPI_Type_free(&shared_type);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  constructors();
  empty_types();
  if (provided == MPI_THREAD_MULTIPLE) first_met_by_two_threads();
  return finish();
}
