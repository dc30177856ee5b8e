// The same operations between the two groups of an intercommunicator: each group gets what the other one contributes.
//
// How. To the team, both groups' ranks are one group (communicator/members.hpp). A barrier is one of all of them, though MPI asks for less.
// Bcast, reduce and allreduce have schedules of their own (algorithms/between.hpp). What else moves data runs as the operations of
// neighborhoods: the neighbors of a rank are the other group's, or the root; what it sends and receives may then differ in size. Of a
// reduce_scatter each rank gets the whole result and keeps its part: only the other group knows how it is cut.
// Of an operation with a root, ranks that give MPI_PROC_NULL have nothing to do; all of their other arguments may be anything.
#pragma once

#include "interpose/describe/describe.hpp"

namespace omnes::interpose::between {

const char* bcast(State& state, Job& job, void* buffer, MPI_Count count, MPI_Datatype type, int root);
const char* reduce(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   int root);
const char* allreduce(State& state, Job& job, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                      MPI_Op op);
/// Its block form, too: job.counts are elements of the parts of this rank's group.
const char* reduce_scatter(State& state, Job& job, const void* send, void* recv, MPI_Datatype type, MPI_Op op);
const char* gather(State& state, Job& job, const Exchange& arguments, int root);
const char* scatter(State& state, Job& job, const Exchange& arguments, int root);
const char* allgather(State& state, Job& job, const Exchange& arguments);
const char* alltoall(State& state, Job& job, const Exchange& arguments);
const char* gatherv(State& state, Job& job, const Exchange& own, const Parted& parts, int root);
const char* scatterv(State& state, Job& job, const Parted& parts, const Exchange& own, int root);
const char* allgatherv(State& state, Job& job, const Exchange& own, const Parted& parts);
const char* alltoallv(State& state, Job& job, Operation operation, const Parted& send, const Parted& recv);

/// MPI has no such operation.
inline constexpr char none[] = "intercommunicator";

}  // namespace omnes::interpose::between
