// Operations along the edges of a communicator's topology.
#include "interpose/data/neighbors.hpp"
#include "interpose/describe/describe.hpp"
#include "interpose/host/failure.hpp"

namespace omnes::interpose {

namespace {

constexpr const char* no_topology = "communicator without a topology";

void runs_along(Job& job, Operation operation, const Edges& edges, std::size_t own_bytes) {
  job.call.operation = operation;
  job.call.neighbors = &edges.neighbors;
  job.call.count = own_bytes;
}

}  // namespace

const char* neighbor_allgather(State& state, Job& job, MPI_Comm comm, const Exchange& a) {
  const Edges* edges = state.edges_on(comm);
  if (!edges) return no_topology;
  View own;
  PartedView recv;
  if (const char* reason = own.set(a.send, a.send_count, a.send_type)) return reason;
  if (const char* reason = recv.set_equal(a.recv, a.recv_count, a.recv_type, edges->source_places)) return reason;
  runs_along(job, Operation::neighbor_allgather, *edges, own.bytes);
  job.sends(own);
  job.receives(std::move(recv));
  return nullptr;
}

const char* neighbor_allgatherv(State& state, Job& job, MPI_Comm comm, const Exchange& a, const Parted& parts) {
  const Edges* edges = state.edges_on(comm);
  if (!edges) return no_topology;
  View own;
  PartedView recv;
  if (const char* reason = own.set(a.send, a.send_count, a.send_type)) return reason;
  if (const char* reason = recv.set(parts, edges->sources, &edges->source_places)) return reason;
  runs_along(job, Operation::neighbor_allgatherv, *edges, own.bytes);
  job.sends(own);
  job.receives(std::move(recv));
  return nullptr;
}

const char* neighbor_alltoall(State& state, Job& job, MPI_Comm comm, const Exchange& a) {
  const Edges* edges = state.edges_on(comm);
  if (!edges) return no_topology;
  PartedView send, recv;
  if (const char* reason = send.set_equal(a.send, a.send_count, a.send_type, edges->destination_places)) return reason;
  if (const char* reason = recv.set_equal(a.recv, a.recv_count, a.recv_type, edges->source_places)) return reason;
  runs_along(job, Operation::neighbor_alltoall, *edges, 0);
  job.sends(std::move(send));
  job.receives(std::move(recv));
  return nullptr;
}

const char* neighbor_alltoallv(State& state, Job& job, MPI_Comm comm, Operation operation, const Parted& send_parts,
                               const Parted& recv_parts) {
  const Edges* edges = state.edges_on(comm);
  if (!edges) return no_topology;
  PartedView send, recv;
  if (const char* reason = send.set(send_parts, edges->destinations, &edges->destination_places)) return reason;
  if (const char* reason = recv.set(recv_parts, edges->sources, &edges->source_places)) return reason;
  runs_along(job, operation, *edges, 0);
  job.sends(std::move(send));
  job.receives(std::move(recv));
  return nullptr;
}

}  // namespace omnes::interpose
