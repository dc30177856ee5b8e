// MPI's arguments, turned into a Job: one function for each operation, which serves all its forms.
//
// Each checks its arguments only as far as needed to hand everything erroneous to the host, which then raises its own
// error through the program's handler. Nothing that MPI allows to differ between ranks (datatypes, in place or not)
// sends a correct call to the host: ranks that go to the host and ranks that do not would wait for each other.
//
// They return null when the job is described, else why the host has to do it; and throw Failure.
#pragma once

#include "interpose/communicator/state.hpp"
#include "interpose/data/job.hpp"

namespace omnes::interpose {

const char* barrier(State& state, Job& job);
const char* bcast(State& state, Job& job, void* buffer, MPI_Count count, MPI_Datatype type, int root);
const char* reduce(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   int root);
const char* allreduce(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                      MPI_Op op);
const char* scan(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op);
const char* exscan(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op);
const char* reduce_scatter_block(State& state, Job& job, const void* send, void* recv, MPI_Count count,
                                 MPI_Datatype type, MPI_Op op);
const char* reduce_scatter(State& state, Job& job, const void* send, void* recv, Integers counts, MPI_Datatype type,
                           MPI_Op op);

/// The arguments that these operations have in common.
struct Exchange {
  const void* send;
  MPI_Count send_count;
  MPI_Datatype send_type;
  void* recv;
  MPI_Count recv_count;
  MPI_Datatype recv_type;
};
const char* gather(State& state, Job& job, const Exchange& arguments, int root);
const char* scatter(State& state, Job& job, const Exchange& arguments, int root);
const char* allgather(State& state, Job& job, const Exchange& arguments);
const char* alltoall(State& state, Job& job, const Exchange& arguments);

// With unequal parts; of an Exchange beside Parted only this rank's own side counts.
const char* gatherv(State& state, Job& job, const Exchange& own, const Parted& parts, int root);
const char* scatterv(State& state, Job& job, const Parted& parts, const Exchange& own, int root);
const char* allgatherv(State& state, Job& job, const Exchange& own, const Parted& parts);
/// alltoallv or alltoallw.
const char* alltoallv(State& state, Job& job, Operation operation, const Parted& send, const Parted& recv);

// Along the edges of the communicator's topology.
const char* neighbor_allgather(State& state, Job& job, MPI_Comm comm, const Exchange& arguments);
const char* neighbor_allgatherv(State& state, Job& job, MPI_Comm comm, const Exchange& own, const Parted& parts);
const char* neighbor_alltoall(State& state, Job& job, MPI_Comm comm, const Exchange& arguments);
/// neighbor_alltoallv or neighbor_alltoallw.
const char* neighbor_alltoallv(State& state, Job& job, MPI_Comm comm, Operation operation, const Parted& send,
                               const Parted& recv);

}  // namespace omnes::interpose
