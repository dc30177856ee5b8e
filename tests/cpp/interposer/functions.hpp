// The functions of MPI that the fake host has.
#pragma once

#include <mpi.h>

// clang-format off
/// With the place of the communicator among the arguments, whose handler hears of a failure; -1: MPI_COMM_SELF's.
#define FAKE_BARRIERS(X) X(Barrier, 0) X(Ibarrier, 0) X(Barrier_init, 0)
#define FAKE_COLLECTIVES(X) \
  X(Bcast, 4) X(Reduce, 6) X(Allreduce, 5) X(Gather, 7) X(Scatter, 7) X(Allgather, 6) X(Alltoall, 6) \
  X(Gatherv, 8) X(Scatterv, 8) X(Allgatherv, 7) X(Alltoallv, 8) X(Alltoallw, 8) X(Scan, 5) X(Exscan, 5) \
  X(Reduce_scatter, 5) X(Reduce_scatter_block, 5) X(Neighbor_allgather, 6) X(Neighbor_allgatherv, 7) \
  X(Neighbor_alltoall, 6) X(Neighbor_alltoallv, 8) X(Neighbor_alltoallw, 8) \
  X(Ibcast, 4) X(Ireduce, 6) X(Iallreduce, 5) X(Igather, 7) X(Iscatter, 7) X(Iallgather, 6) \
  X(Ialltoall, 6) X(Igatherv, 8) X(Iscatterv, 8) X(Iallgatherv, 7) X(Ialltoallv, 8) X(Ialltoallw, 8) X(Iscan, 5) \
  X(Iexscan, 5) X(Ireduce_scatter, 5) X(Ireduce_scatter_block, 5) X(Ineighbor_allgather, 6) \
  X(Ineighbor_allgatherv, 7) X(Ineighbor_alltoall, 6) X(Ineighbor_alltoallv, 8) X(Ineighbor_alltoallw, 8)
#define FAKE_PERSISTENT(X) \
  X(Bcast_init, 4) X(Reduce_init, 6) X(Allreduce_init, 5) X(Gather_init, 7) X(Scatter_init, 7) \
  X(Allgather_init, 6) X(Alltoall_init, 6) X(Gatherv_init, 8) X(Scatterv_init, 8) X(Allgatherv_init, 7) \
  X(Alltoallv_init, 8) X(Alltoallw_init, 8) X(Scan_init, 5) X(Exscan_init, 5) X(Reduce_scatter_init, 5) \
  X(Reduce_scatter_block_init, 5) X(Neighbor_allgather_init, 6) X(Neighbor_allgatherv_init, 7) \
  X(Neighbor_alltoall_init, 6) X(Neighbor_alltoallv_init, 8) X(Neighbor_alltoallw_init, 8)
#define FAKE_MESSAGES(X) \
  X(Send, 5) X(Ssend, 5) X(Rsend, 5) X(Isend, 5) X(Issend, 5) X(Irsend, 5) X(Recv, 5) X(Irecv, 5) \
  X(Bsend, 5) X(Ibsend, 5) X(Bsend_init, 5) X(Mrecv, -1) X(Imrecv, -1) X(Sendrecv, 10) X(Sendrecv_replace, 7)
#define FAKE_REQUESTS(X) \
  X(Recv_init, 5) X(Probe, 2) X(Iprobe, 2) X(Mprobe, 2) X(Improbe, 2) \
  X(Start, -1) X(Startall, -1) X(Cancel, -1) X(Request_free, -1) \
  X(Test, -1) X(Wait, -1) X(Testall, -1) X(Waitall, -1) X(Testany, -1) X(Waitany, -1) X(Testsome, -1) X(Waitsome, -1) \
  X(Request_get_status, -1) X(Request_get_status_all, -1) X(Request_get_status_any, -1) X(Request_get_status_some, -1)
#define FAKE_TYPES(X) \
  X(Type_contiguous, -1) X(Type_vector, -1) X(Type_create_hvector, -1) X(Type_create_struct, -1) \
  X(Type_indexed, -1) X(Type_create_hindexed, -1) X(Type_create_indexed_block, -1) \
  X(Type_create_resized, -1) X(Type_commit, -1) X(Type_free, -1) X(Type_size_x, -1) \
  X(Type_get_extent, -1) X(Type_get_true_extent, -1) X(Type_get_envelope, -1) X(Type_get_contents, -1) \
  X(Type_create_keyval, -1) X(Type_set_attr, -1) X(Type_get_attr, -1) \
  X(Pack, 6) X(Unpack, 6) X(Reduce_local, -1) X(Op_commutative, -1) X(Op_free, -1)
#define FAKE_COMMUNICATORS(X) \
  X(Init, -1) X(Init_thread, -1) X(Query_thread, -1) X(Initialized, -1) X(Finalize, -1) X(Finalized, -1) X(Abort, -1) \
  X(Get_processor_name, -1) X(Comm_rank, 0) X(Comm_size, 0) X(Comm_create, 0) X(Comm_free, -1) X(Comm_disconnect, -1) \
  X(Comm_test_inter, 0) X(Comm_get_parent, -1) X(Comm_set_errhandler, 0) X(Comm_get_errhandler, 0) X(Errhandler_free, -1) X(Comm_set_name, 0) \
  X(Comm_call_errhandler, 0) X(Comm_create_keyval, -1) X(Comm_set_attr, 0) X(Comm_get_attr, 0) X(Comm_get_name, 0) \
  X(Comm_set_info, 0) X(Comm_group, 0) X(Comm_remote_size, 0) X(Comm_remote_group, 0) X(Comm_delete_attr, 0) X(Group_size, -1) X(Group_translate_ranks, -1) \
  X(Group_free, -1) X(Info_get, -1) \
  X(Add_error_class, -1) X(Add_error_code, -1) X(Add_error_string, -1) \
  X(Comm_dup, 0) X(Comm_dup_with_info, 0) X(Comm_idup, 0) X(Comm_idup_with_info, 0) X(Comm_split_type, 0) \
  X(Cart_sub, 0) X(Graph_create, 0) X(Graph_neighbors_count, 0) X(Graph_neighbors, 0) X(Dist_graph_create, 0) \
  X(Intercomm_create, 0) X(Intercomm_merge, 0) X(Win_create, 4) X(Win_allocate, 3) X(Win_allocate_shared, 3) \
  X(Win_create_dynamic, 1) X(Win_create_c, 4) X(Win_allocate_c, 3) X(Win_allocate_shared_c, 3) X(Win_shared_query, -1) \
  X(Win_free, -1) X(Comm_split, 0) X(Comm_create_group, 0) X(Cart_create, 0) \
  X(Dist_graph_create_adjacent, 0) X(Topo_test, 0) X(Cartdim_get, 0) X(Cart_shift, 0) \
  X(Dist_graph_neighbors_count, 0) X(Dist_graph_neighbors, 0) X(Alloc_mem, -1) X(Free_mem, -1)
/// Those with a twin for large counts.
#define FAKE_COUNTED(X) FAKE_COLLECTIVES(X) FAKE_PERSISTENT(X) FAKE_MESSAGES(X)
#define FAKE_FUNCTIONS(X) FAKE_BARRIERS(X) FAKE_COUNTED(X) FAKE_REQUESTS(X) FAKE_TYPES(X) FAKE_COMMUNICATORS(X)
/// Those that the interposer does not call.
#define FAKE_OTHERS(X) \
  X(Type_create_hindexed_block, -1) X(Type_create_subarray, -1) \
  X(Type_dup, -1) X(Op_create, -1) X(Comm_create_errhandler, -1) X(Group_incl, -1) \
  X(Info_create, -1) X(Info_set, -1) X(Info_free, -1)
// clang-format on

namespace fake {

#define FAKE_DECLARE(name, comm) decltype(::PMPI_##name) name;
FAKE_FUNCTIONS(FAKE_DECLARE)
FAKE_OTHERS(FAKE_DECLARE)
#undef FAKE_DECLARE
int Request_is_complete(MPI_Request request);
int Comm_is_revoked(MPI_Comm comm, int* flag);

}  // namespace fake
