/* The names of the collective operations with counts, for C and C++. */
#pragma once

// clang-format off
/* T(X, name, operation) for each. */
#define OMNES_COLLECTIVES(T, X)                                                                           \
  T(X, Bcast, bcast) T(X, Reduce, reduce) T(X, Allreduce, allreduce) T(X, Allgather, allgather)           \
  T(X, Gather, gather) T(X, Scatter, scatter) T(X, Alltoall, alltoall) T(X, Gatherv, gatherv)             \
  T(X, Scatterv, scatterv) T(X, Allgatherv, allgatherv) T(X, Alltoallv, alltoallv)                        \
  T(X, Alltoallw, alltoallw) T(X, Reduce_scatter, reduce_scatter)                                         \
  T(X, Reduce_scatter_block, reduce_scatter_block) T(X, Scan, scan) T(X, Exscan, exscan)                  \
  T(X, Neighbor_allgather, neighbor_allgather) T(X, Neighbor_allgatherv, neighbor_allgatherv)             \
  T(X, Neighbor_alltoall, neighbor_alltoall) T(X, Neighbor_alltoallv, neighbor_alltoallv)                 \
  T(X, Neighbor_alltoallw, neighbor_alltoallw)
// clang-format on
