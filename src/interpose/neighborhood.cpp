// Operations along the edges of a communicator's topology.
#include "interpose/call.hpp"
#include "interpose/failure.hpp"
#include "interpose/neighbors.hpp"

namespace omnes::interpose {

namespace {

constexpr const char* no_topology = "communicator without a topology";

const Edges* edges_at(State& state, MPI_Comm comm) {
  if (!state.edges) state.edges = edges_of(comm, state.rank);
  return state.edges.get();
}

void runs_along(Job& job, Operation operation, const Edges& edges, std::size_t own_bytes) {
  job.call.operation = operation;
  job.call.neighbors = &edges.neighbors;
  job.call.count = own_bytes;
}

/// The parts that lie at the edges' places, with equal counts or with their own.
const char* set_equal(PartedView& view, const void* buffer, MPI_Count count, MPI_Datatype type,
                      const std::vector<int>& places) {
  return places.empty() ? nullptr : view.set_equal(buffer, count, type, 0, places);
}
const char* set(PartedView& view, const Parted& arguments, const std::vector<int>& places) {
  return places.empty() ? nullptr : view.set(arguments, 0, places);
}

}  // namespace

const char* neighbor_allgather(State& state, Job& job, MPI_Comm comm, const Exchange& a) {
  const Edges* edges = edges_at(state, comm);
  if (!edges) return no_topology;
  View own;
  PartedView recv;
  if (const char* reason = own.set(a.send, a.send_count, a.send_type)) return reason;
  if (const char* reason = set_equal(recv, a.recv, a.recv_count, a.recv_type, edges->source_places)) return reason;
  runs_along(job, Operation::neighbor_allgather, *edges, own.bytes);
  job.sends(own);
  job.receives(std::move(recv));
  return nullptr;
}

const char* neighbor_allgatherv(State& state, Job& job, MPI_Comm comm, const Exchange& a, const Parted& parts) {
  const Edges* edges = edges_at(state, comm);
  if (!edges) return no_topology;
  View own;
  PartedView recv;
  if (const char* reason = own.set(a.send, a.send_count, a.send_type)) return reason;
  if (const char* reason = set(recv, parts, edges->source_places)) return reason;
  runs_along(job, Operation::neighbor_allgatherv, *edges, own.bytes);
  job.sends(own);
  job.receives(std::move(recv));
  return nullptr;
}

const char* neighbor_alltoall(State& state, Job& job, MPI_Comm comm, const Exchange& a) {
  const Edges* edges = edges_at(state, comm);
  if (!edges) return no_topology;
  PartedView send, recv;
  if (const char* reason = set_equal(send, a.send, a.send_count, a.send_type, edges->destination_places)) return reason;
  if (const char* reason = set_equal(recv, a.recv, a.recv_count, a.recv_type, edges->source_places)) return reason;
  runs_along(job, Operation::neighbor_alltoall, *edges, 0);
  job.sends(std::move(send));
  job.receives(std::move(recv));
  return nullptr;
}

const char* neighbor_alltoallv(State& state, Job& job, MPI_Comm comm, Operation operation, const Parted& send_parts,
                               const Parted& recv_parts) {
  const Edges* edges = edges_at(state, comm);
  if (!edges) return no_topology;
  PartedView send, recv;
  if (const char* reason = set(send, send_parts, edges->destination_places)) return reason;
  if (const char* reason = set(recv, recv_parts, edges->source_places)) return reason;
  runs_along(job, operation, *edges, 0);
  job.sends(std::move(send));
  job.receives(std::move(recv));
  return nullptr;
}

}  // namespace omnes::interpose
