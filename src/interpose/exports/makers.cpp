// The makers of communicators.
//
// Why only these have an identity: the others (MPI_Comm_create_group, MPI_Comm_idup, MPI_Intercomm_merge, ...) are
// called by some of the parent's members, or in an order of their own.
#include <optional>
#include <utility>

#include "interpose/check/check.hpp"
#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/communicator/spares.hpp"
#include "interpose/exports/startup.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/progress/failures.hpp"

namespace omnes::interpose {

// Ours, in front of which no tool stands (collectives.cpp).
extern "C" __attribute__((visibility("default"))) int omnes_PMPI_Allreduce(const void* send, void* recv, int count,
                                                                           Wide type, Wide op,
                                                                           Wide comm) asm("PMPI_Allreduce");

namespace {

/// What is made, and by whom.
struct Making {
  check::Function function;
  MadeOf members;
  bool ordered;  ///< see child_of()
  const void* caller;
};

/// All members call it, in order: that is checked as for collectives. Returns the parent's state; null: it is not checked. Throws Failure.
State* check_call(MPI_Comm parent, const Making& making, std::optional<check::Entry>& checked) {
  State* const state = find_state(parent, Form::blocking).state;
  if (!state) return nullptr;
  checked.emplace(*state, parent, check::number_of(making.function), Form::blocking, making.caller);
  checked->post(failures::code_for(*state, parent) != 0);
  return state;
}

/// Whether the members of the parent may ask each other for spares: alike on all of them, as all have made the same calls.
bool may_ask(MPI_Comm parent) {
  const std::shared_ptr<State> state = origin_of(parent).state;
  return state && state->team && state->begun && state->spares;
}

/// Calls the host's maker.
template <class Make>
int make(Wide parent, const Making& making, const void* made, Make make) try {
  if (find_host() != built_for) return make();
  const auto [function, members, ordered, caller] = making;
  const record::Within within;
  std::optional<check::Entry> checked;
  State* state = nullptr;
  if (checking() && (ordered || members == MadeOf::same)) {
    try {
      state = check_call(narrow<MPI_Comm>(parent), making, checked);
    } catch (const Failure&) {  // the host says what is wrong
    }
  }
  Origin origin = child_of(narrow<MPI_Comm>(parent), members, ordered);
  const int code = make();
  if (code != MPI_SUCCESS) {
    not_made(narrow<MPI_Comm>(parent), origin);
    if (state) checked->failed(failures::code_for(*state, narrow<MPI_Comm>(parent)) != 0);
    return code;
  }
  if (made) retire(*static_cast<const MPI_Comm*>(made));  // one of that handle is gone
  if (recording() && made)
    record::made(narrow<MPI_Comm>(parent), origin.id, members == MadeOf::same, *static_cast<const MPI_Comm*>(made));
  keep_made(std::move(origin), made);
  if (made && members == MadeOf::same) spares::copied(narrow<MPI_Comm>(parent), *static_cast<const MPI_Comm*>(made));
  if (made && *static_cast<const MPI_Comm*>(made) != handles.comm_null) spares::one_more();
  return code;
} catch (...) {
  return raise_current(narrow<MPI_Comm>(parent));
}

/// The same, unless the parent's members have kept one that was made in the same way.
template <class Make>
int make_or_take(Wide parent, const Making& making, const spares::Way& way, void* made, Make call) try {
  const auto comm = narrow<MPI_Comm>(parent);
  if (find_host() != built_for || !made || !may_ask(comm)) return make(parent, making, made, call);
  auto& child = *static_cast<MPI_Comm*>(made);
  if (const std::optional<spares::Offers> offers = spares::offers(comm, way)) {
    spares::Offers of_all;
    const int code = omnes_PMPI_Allreduce(offers->data(), of_all.data(), spares::max_spares, (Wide)handles.integer,
                                          (Wide)handles.min, parent);
    if (code != MPI_SUCCESS) return code;
    if (spares::take(comm, way, of_all, child)) return code;
  }
  const int code = make(parent, making, made, call);
  if (code == MPI_SUCCESS) spares::made(comm, way, child);
  return code;
} catch (...) {
  return raise_current(narrow<MPI_Comm>(parent));
}

template <class Make>
int make_of_session(const void* made, Make make) {
  const int code = make();
  if (code == MPI_SUCCESS && find_host() == built_for) keep_made({.of_session = true}, made);
  return code;
}

}  // namespace

// A maker out of its parent: parameters between that and the result, and the same as arguments.
#define OMNES_BETWEEN(...) __VA_OPT__(, ) __VA_ARGS__
#define OMNES_MAKER(name, members, ordered, parameters, arguments)                           \
  OMNES_EXPORT(name, Wide comm OMNES_BETWEEN parameters, void* made) {                       \
    return make(comm, {check::Function::name, MadeOf::members, ordered, OMNES_CALLER}, made, \
                [&] { return call_host(host.name, comm OMNES_BETWEEN arguments, made); });   \
  }

OMNES_EXPORT(Comm_dup, Wide comm, void* made) {
  return make_or_take(comm, {check::Function::Comm_dup, MadeOf::same, true, OMNES_CALLER}, {}, made,
                      [&] { return call_host(host.Comm_dup, comm, made); });
}

OMNES_EXPORT(Comm_split, Wide comm, int color, int key, void* made) {
  const Making making{check::Function::Comm_split, MadeOf::others, true, OMNES_CALLER};
  const auto split = [&] { return call_host(host.Comm_split, comm, color, key, made); };
  // Open MPI refuses such colors on the rank that gives them, before it asks others.
  if (built_for == Family::ompi && color < 0 && color != MPI_UNDEFINED) return make(comm, making, made, split);
  return make_or_take(comm, making, {true, color, key}, made, split);
}

OMNES_MAKER(Comm_dup_with_info, same, true, (Wide info), (info))
OMNES_MAKER(Comm_split_type, others, true, (int type, int key, Wide info), (type, key, info))
OMNES_MAKER(Comm_create, others, true, (Wide group), (group))
OMNES_MAKER(Cart_create, others, true, (int dimensions, const int* sizes, const int* periods, int reorder),
            (dimensions, sizes, periods, reorder))
OMNES_MAKER(Cart_sub, others, true, (const int* kept), (kept))
OMNES_MAKER(Graph_create, others, true, (int nodes, const int* index, const int* edges, int reorder),
            (nodes, index, edges, reorder))
OMNES_MAKER(Dist_graph_create, others, true,
            (int count, const int* sources, const int* degrees, const int* destinations, const int* weights, Wide info,
             int reorder),
            (count, sources, degrees, destinations, weights, info, reorder))
OMNES_MAKER(Dist_graph_create_adjacent, others, true,
            (int in, const int* sources, const int* source_weights, int out, const int* destinations,
             const int* destination_weights, Wide info, int reorder),
            (in, sources, source_weights, out, destinations, destination_weights, info, reorder))
OMNES_MAKER(Comm_create_group, others, false, (Wide group, int tag), (group, tag))
OMNES_MAKER(Intercomm_create, strangers, false, (int leader, Wide peers, int remote_leader, int tag),
            (leader, peers, remote_leader, tag))
OMNES_MAKER(Intercomm_merge, both, false, (int high), (high))

OMNES_EXPORT(Comm_idup, Wide comm, void* made, void* request) {
  return make(comm, {check::Function::Comm_idup, MadeOf::same, false, OMNES_CALLER}, made,
              [&] { return call_host(host.Comm_idup, comm, made, request); });
}

OMNES_EXPORT(Comm_idup_with_info, Wide comm, Wide info, void* made, void* request) {
  return make(comm, {check::Function::Comm_idup_with_info, MadeOf::same, false, OMNES_CALLER}, made,
              [&] { return call_host(host.Comm_idup_with_info, comm, info, made, request); });
}

OMNES_EXPORT(Comm_create_from_group, Wide group, const char* tag, Wide info, Wide handler, void* made) {
  find_host();
  return make_of_session(made, [&] { return call_host(host.Comm_create_from_group, group, tag, info, handler, made); });
}

OMNES_EXPORT(Intercomm_create_from_groups, Wide group, int leader, Wide others, int remote_leader, const char* tag,
             Wide info, Wide handler, void* made) {
  find_host();
  return make_of_session(made, [&] {
    return call_host(host.Intercomm_create_from_groups, group, leader, others, remote_leader, tag, info, handler, made);
  });
}

}  // namespace omnes::interpose
