// MPI's arguments, turned into a Call of a team and back: one function for each operation.
//
// Each checks its arguments only as far as needed to hand everything erroneous to the host, which then raises its own
// error through the program's handler. Nothing that MPI allows to differ between ranks (datatypes, in place or not)
// sends a correct call to the host: ranks that go to the host and ranks that do not would wait for each other.
//
// They return null when they have served the call, else why the host has to do it; and throw Failure.
#pragma once

#include "interpose/state.hpp"

namespace omnes {

const char* barrier(State& state);
const char* bcast(State& state, void* buffer, MPI_Count count, MPI_Datatype type, int root);
const char* reduce(State& state, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op, int root);
const char* allreduce(State& state, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op);

/// The arguments that these operations have in common.
struct Exchange {
  const void* send;
  MPI_Count send_count;
  MPI_Datatype send_type;
  void* recv;
  MPI_Count recv_count;
  MPI_Datatype recv_type;
};
const char* gather(State& state, const Exchange& arguments, int root);
const char* scatter(State& state, const Exchange& arguments, int root);
const char* allgather(State& state, const Exchange& arguments);
const char* alltoall(State& state, const Exchange& arguments);

}  // namespace omnes
