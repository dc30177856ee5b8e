// The 22 collective operations in their three forms: one line each, with its arguments.
#ifndef CATALOGUE_CALLS_H
#define CATALOGUE_CALLS_H

#include "../check.h"

enum form { blocking, nonblocking, persistent };
static const char* const forms[] = {"blocking", "nonblocking", "persistent"};

// One side of a call; the equal forms take `count`, the others arrays with one entry for each part.
struct side {
  void* data;
  int count;
  MPI_Datatype type;
  const int* counts;
  const int* displs;          // in elements
  const int* offsets;         // in bytes
  const MPI_Aint* addresses;  // the same, for Neighbor_alltoallw
  const MPI_Datatype* types;
};

// What a call is given: more than any one operation takes.
struct call {
  struct side send, recv;
  MPI_Op op;
  int root;
  MPI_Comm comm;
};

#if HAS_PERSISTENT
#define MAKE_PERSISTENT(Name, ...) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#else
#define MAKE_PERSISTENT(Name, ...) (void)0
#endif

// start_NAME: calls the blocking form, starts the nonblocking one, or makes the persistent request.
#define FORMS(Name, name, ...)                                                           \
  static void start_##name(enum form form, const struct call* c, MPI_Request* request) { \
    switch (form) {                                                                      \
      case blocking: MPI_##Name(__VA_ARGS__); break;                                     \
      case nonblocking: MPI_I##name(__VA_ARGS__, request); break;                        \
      case persistent: MAKE_PERSISTENT(Name, __VA_ARGS__); break;                        \
    }                                                                                    \
  }

#define EQUAL(side) side.data, side.count, side.type
#define UNEQUAL(side) side.data, side.counts, side.displs, side.type
#define TYPED(side) side.data, side.counts, side.offsets, side.types
#define TYPED_FAR(side) side.data, side.counts, side.addresses, side.types
#define OPERANDS c->send.data, c->recv.data, c->recv.count, c->recv.type, c->op

FORMS(Barrier, barrier, c->comm)
FORMS(Bcast, bcast, EQUAL(c->recv), c->root, c->comm)
FORMS(Gather, gather, EQUAL(c->send), EQUAL(c->recv), c->root, c->comm)
FORMS(Gatherv, gatherv, EQUAL(c->send), UNEQUAL(c->recv), c->root, c->comm)
FORMS(Scatter, scatter, EQUAL(c->send), EQUAL(c->recv), c->root, c->comm)
FORMS(Scatterv, scatterv, UNEQUAL(c->send), EQUAL(c->recv), c->root, c->comm)
FORMS(Allgather, allgather, EQUAL(c->send), EQUAL(c->recv), c->comm)
FORMS(Allgatherv, allgatherv, EQUAL(c->send), UNEQUAL(c->recv), c->comm)
FORMS(Alltoall, alltoall, EQUAL(c->send), EQUAL(c->recv), c->comm)
FORMS(Alltoallv, alltoallv, UNEQUAL(c->send), UNEQUAL(c->recv), c->comm)
FORMS(Alltoallw, alltoallw, TYPED(c->send), TYPED(c->recv), c->comm)
FORMS(Neighbor_allgather, neighbor_allgather, EQUAL(c->send), EQUAL(c->recv), c->comm)
FORMS(Neighbor_allgatherv, neighbor_allgatherv, EQUAL(c->send), UNEQUAL(c->recv), c->comm)
FORMS(Neighbor_alltoall, neighbor_alltoall, EQUAL(c->send), EQUAL(c->recv), c->comm)
FORMS(Neighbor_alltoallv, neighbor_alltoallv, UNEQUAL(c->send), UNEQUAL(c->recv), c->comm)
FORMS(Neighbor_alltoallw, neighbor_alltoallw, TYPED_FAR(c->send), TYPED_FAR(c->recv), c->comm)
FORMS(Reduce, reduce, OPERANDS, c->root, c->comm)
FORMS(Allreduce, allreduce, OPERANDS, c->comm)
FORMS(Reduce_scatter_block, reduce_scatter_block, OPERANDS, c->comm)
FORMS(Reduce_scatter, reduce_scatter, c->send.data, c->recv.data, c->recv.counts, c->recv.type, c->op, c->comm)
FORMS(Scan, scan, OPERANDS, c->comm)
FORMS(Exscan, exscan, OPERANDS, c->comm)

#endif
