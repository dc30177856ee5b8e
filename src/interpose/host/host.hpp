// The host MPI: the library that the program has loaded, found at run time.
//
// How: among the loaded objects the one that defines PMPI_Comm_rank and is not this library is the host; every function
// we call is looked up in it. There is no link-time dependency, so one build serves all versions of a family.
#pragma once

#include <atomic>

#include "interpose/host/abi.hpp"
#include "interpose/host/collectives.h"

// Every function of the host that this library calls.
// clang-format off
#ifdef OMNES_PERSISTENT
#define OMNES_THREE_FORMS(X, name, operation) X(name) X(I##operation) X(name##_init)
#else
#define OMNES_THREE_FORMS(X, name, operation) X(name) X(I##operation)
#endif
#define OMNES_THREE_FORMS_C(X, name, operation) X(name##_c) X(I##operation##_c) X(name##_init_c)

#define OMNES_MESSAGES(X)                                                                                 \
  X(Send) X(Ssend) X(Rsend) X(Recv) X(Mrecv) X(Sendrecv) X(Isend) X(Issend) X(Irsend) X(Irecv) X(Imrecv)  \
  X(Bsend) X(Ibsend) X(Bsend_init)
#define OMNES_MESSAGES_C(X)                                                                               \
  X(Send_c) X(Ssend_c) X(Rsend_c) X(Recv_c) X(Mrecv_c) X(Sendrecv_c)                                      \
  X(Isend_c) X(Issend_c) X(Irsend_c) X(Irecv_c) X(Imrecv_c) X(Bsend_c) X(Ibsend_c) X(Bsend_init_c)

#define OMNES_HOST_FUNCTIONS(X)                                                                           \
  X(Init) X(Init_thread) X(Query_thread) X(Initialized) X(Finalize) X(Finalized) X(Abort)                 \
  OMNES_THREE_FORMS(X, Barrier, barrier) OMNES_COLLECTIVES(OMNES_THREE_FORMS, X)                          \
  X(Topo_test) X(Cartdim_get) X(Cart_shift) X(Graph_neighbors_count) X(Graph_neighbors)                   \
  X(Dist_graph_neighbors_count) X(Dist_graph_neighbors)                                                   \
  X(Get_processor_name)                                                                                   \
  X(Comm_rank) X(Comm_size) X(Comm_create) X(Comm_free) X(Comm_disconnect) X(Comm_test_inter)             \
  X(Comm_set_errhandler) X(Comm_call_errhandler) X(Comm_create_keyval) X(Comm_set_attr) X(Comm_get_name)  \
  X(Comm_get_attr) X(Comm_set_info) X(Comm_group) X(Group_size) X(Group_translate_ranks) X(Group_free) X(Info_get)      \
  OMNES_MESSAGES(X) X(Sendrecv_replace) X(Recv_init)                                                      \
  X(Probe) X(Iprobe) X(Mprobe) X(Improbe)                                                                 \
  X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome)                     \
  X(Request_get_status) X(Request_free) X(Start) X(Startall) X(Cancel)                                    \
  X(Type_get_envelope) X(Type_get_contents) X(Type_get_extent) X(Type_get_true_extent) X(Type_size_x)     \
  X(Type_contiguous) X(Type_vector) X(Type_create_hvector) X(Type_create_struct) X(Type_create_resized)   \
  X(Type_indexed) X(Type_create_hindexed) X(Type_create_indexed_block)                                    \
  X(Type_commit) X(Type_free)                                                                             \
  X(Type_create_keyval) X(Type_set_attr) X(Type_get_attr)                                                 \
  X(Pack) X(Unpack) X(Reduce_local) X(Op_commutative) X(Op_free)                                          \
  X(Win_create) X(Win_allocate) X(Win_allocate_shared) X(Win_create_dynamic)                              \
  X(Win_shared_query) X(Win_free) X(Alloc_mem) X(Free_mem)                                                \
  X(Add_error_class) X(Add_error_code) X(Add_error_string)

#ifdef OMNES_LARGE_COUNTS
#define OMNES_HOST_COUNT_FUNCTIONS(X)                                                                     \
  OMNES_COLLECTIVES(OMNES_THREE_FORMS_C, X) X(Type_get_envelope_c) X(Type_get_contents_c)                 \
  OMNES_MESSAGES_C(X)                                                                                     \
  X(Sendrecv_replace_c)                                                          \
  X(Send_init_c) X(Ssend_init_c) X(Rsend_init_c) X(Recv_init_c) X(Isendrecv_c) X(Isendrecv_replace_c)      \
  X(Win_create_c) X(Win_allocate_c) X(Win_allocate_shared_c)                                              \
  X(Request_get_status_all) X(Request_get_status_any) X(Request_get_status_some)
#else
#define OMNES_HOST_COUNT_FUNCTIONS(X)
#endif

// What makes communicators. A simulation has no use for them.
#ifndef OMNES_ABI_SMPI
#define OMNES_HOST_MAKERS(X)                                                                              \
  X(Comm_dup) X(Comm_dup_with_info) X(Comm_idup) X(Comm_idup_with_info) X(Comm_split) X(Comm_split_type)  \
  X(Comm_create_group) X(Intercomm_create) X(Intercomm_merge) X(Cart_create) X(Cart_sub) X(Graph_create)  \
  X(Dist_graph_create) X(Dist_graph_create_adjacent)                                                      \
  X(Comm_create_from_group) X(Intercomm_create_from_groups)                                               \
  X(Comm_set_name) X(Comm_get_errhandler) X(Errhandler_free)                                              \
  X(Open_port) X(Close_port) X(Comm_accept) X(Comm_connect) X(Comm_join)                                 \
  X(Comm_spawn) X(Comm_spawn_multiple) X(Comm_get_parent) X(Comm_remote_size) X(Comm_remote_group) X(Comm_delete_attr)        \
  X(Info_create) X(Info_dup) X(Info_set) X(Info_free)
// Of the interface for tools.
#define OMNES_HOST_TOOLS(X)                                                                               \
  X(T_cvar_get_num) X(T_cvar_get_info) X(T_cvar_get_index) X(T_cvar_handle_alloc) X(T_cvar_handle_free)   \
  X(T_cvar_read) X(T_cvar_write)                                                                          \
  X(T_pvar_get_num) X(T_pvar_get_info) X(T_pvar_get_index) X(T_pvar_session_create) X(T_pvar_session_free) \
  X(T_pvar_handle_alloc) X(T_pvar_handle_free) X(T_pvar_start) X(T_pvar_stop) X(T_pvar_read)              \
  X(T_pvar_write) X(T_pvar_reset) X(T_pvar_readreset)                                                     \
  X(T_category_get_num) X(T_category_get_info) X(T_category_get_index) X(T_category_get_cvars)            \
  X(T_category_get_pvars) X(T_category_get_categories)
// The other functions that begin a message.
#define OMNES_HOST_BEGINNERS(X)                                                                           \
  X(Send_init) X(Ssend_init) X(Rsend_init) X(Isendrecv) X(Isendrecv_replace) X(Psend_init) X(Precv_init)
#else
#define OMNES_HOST_MAKERS(X)
#define OMNES_HOST_TOOLS(X)
#define OMNES_HOST_BEGINNERS(X)
#endif
// clang-format on

namespace omnes::interpose {

struct Host {
#define OMNES_MEMBER(name) decltype(&PMPI_##name) name;
  OMNES_HOST_FUNCTIONS(OMNES_MEMBER)
  OMNES_HOST_COUNT_FUNCTIONS(OMNES_MEMBER)
  OMNES_HOST_MAKERS(OMNES_MEMBER)
  OMNES_HOST_TOOLS(OMNES_MEMBER)
  OMNES_HOST_BEGINNERS(OMNES_MEMBER)
#undef OMNES_MEMBER
  // Not in all headers:
  int (*Attr_put)(MPI_Comm comm, int key, void* value);
  int (*Comm_attach_buffer)(MPI_Comm comm, void* buffer, int size);
  int (*Comm_attach_buffer_c)(MPI_Comm comm, void* buffer, MPI_Count size);
  int (*T_category_get_num_events)(int category, int* events);
  int (*T_category_get_events)(int category, int length, int* indices);
  // MPIX_..., where the host has them:
  int (*Comm_is_revoked)(MPI_Comm comm, int* flag);
  int (*Comm_revoke)(MPI_Comm comm);
  int (*Comm_get_failed)(MPI_Comm comm, MPI_Group* failed);
  int (*Comm_test_threadcomm)(MPI_Comm comm, int* flag);
  int (*Request_is_complete)(MPI_Request request);  ///< without any progress
  const bool* survives_failures;                    ///< Open MPI's mpi_ft_enable, after MPI_Init
};

/// Predefined handles that calls are compared with, looked up once.
struct Handles {
  MPI_Comm comm_world, comm_self, comm_null;
  MPI_Info info_null;
  MPI_Datatype type_null, byte, integer;
  MPI_Op op_null, min;
  MPI_Request request_null;
  MPI_Errhandler errors_return;
};

/// The family a library belongs to.
enum class Family { none, ompi, mpich, abi, smpi };
const char* name(Family family);
#if defined(OMNES_ABI_OMPI)
inline constexpr Family built_for = Family::ompi;
#elif defined(OMNES_ABI_MPICH)
inline constexpr Family built_for = Family::mpich;
#elif defined(OMNES_ABI_SMPI)
inline constexpr Family built_for = Family::smpi;
#elif defined(OMNES_ABI_STANDARD)
inline constexpr Family built_for = Family::abi;
#else
#error "define OMNES_ABI_OMPI, OMNES_ABI_MPICH, OMNES_ABI_STANDARD or OMNES_ABI_SMPI"
#endif

/// Whether the host is a simulator: all ranks are one process and take turns. There is no shared memory to find, nobody
/// may spin, and the host serves all but the blocking collectives.
inline constexpr bool simulated = built_for == Family::smpi;

/// Whether this is a component of the host, which calls it, rather than a library in front of it (src/component).
#ifdef OMNES_COMPONENT
inline constexpr bool component = true;
#else
inline constexpr bool component = false;
#endif

extern Host host;
extern Handles handles;

/// How many things keep calls that are not ours from going straight to the host: it is not found yet; operations of ours
/// are under way; persistent ones exist. While there are none, such a call costs a look at this.
extern std::atomic<int> detours;
inline bool straight() { return detours.load(std::memory_order_acquire) == 0; }  // after the host was found

/// Of an attribute that stays with the communicator or datatype it was given to.
template <class Handle>
int no_copy(Handle, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

/// Finds the host on the first call. When its family is not the one this library is built for, only the functions of
/// `host` are usable, to hand calls on unchanged; `handles` stay empty.
Family find_host();
/// Its part that fills `host` in, by the kind of host.
Family look_up_host();
/// MPI_COMM_WORLD as the mpi.h of the host's family has it, whichever that is; 0: not known.
Wide world_of(Family family);

}  // namespace omnes::interpose
