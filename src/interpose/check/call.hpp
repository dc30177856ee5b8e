// A collective call as the program made it: what others have to know of it, and where its data lie.
#pragma once

#include <vector>

#include "interpose/check/board.hpp"
#include "interpose/check/signatures.hpp"
#include "interpose/communicator/state.hpp"
#include "interpose/data/parted.hpp"
#include "interpose/describe/describe.hpp"

namespace omnes::interpose::check {

/// What this rank sends, or receives: parts of one buffer.
struct Side {
  const void* buffer = nullptr;
  int parts = 0;        ///< 0: nothing
  MPI_Count count = 0;  ///< of elements in each part, unless
  Integers counts = {}, displacements = {};
  MPI_Datatype type{};
  const MPI_Datatype* types = nullptr;
  const std::vector<int>* only = nullptr;  ///< of the parts those that have data; null: all

  MPI_Count count_of(int part) const { return counts ? counts[part] : count; }
  MPI_Datatype type_of(int part) const { return types ? types[part] : type; }
  bool has(int part) const;
  Signature signature_of(int part) const { return signature(count_of(part), type_of(part)); }
  /// Where the part begins.
  std::byte* address_of(int part) const;
};

struct Call {
  /// Between whom signatures have to match.
  enum class Match : std::uint8_t {
    none,   ///< barriers; neighborhoods, whose edges say
    all,    ///< the same on all ranks
    root,   ///< each rank's own with the root's part for it
    pairs,  ///< each rank's part for another with that one's part for it
  };
  Match match = Match::none;
  int root = -1;
  MPI_Op op{};
  bool reduces = false;
  bool in_place = false;
  Signature whole;          ///< for `all`
  std::uint64_t order = 0;  ///< and of the sizes of its parts, where these differ
  Side send, recv;
  Integers counts;           ///< of a reduce_scatter
  bool sends_parts = false;  ///< for `root`: the root sends
};

}  // namespace omnes::interpose::check

namespace omnes::interpose {

// As those of describe.hpp, with the same arguments. Always null.
const char* barrier(State& state, check::Call& call);
const char* bcast(State& state, check::Call& call, void* buffer, MPI_Count count, MPI_Datatype type, int root);
const char* reduce(State& state, check::Call& call, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                   MPI_Op op, int root);
const char* allreduce(State& state, check::Call& call, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                      MPI_Op op);
const char* scan(State& state, check::Call& call, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                 MPI_Op op);
const char* exscan(State& state, check::Call& call, const void* send, void* recv, MPI_Count count, MPI_Datatype type,
                   MPI_Op op);
const char* reduce_scatter_block(State& state, check::Call& call, const void* send, void* recv, MPI_Count count,
                                 MPI_Datatype type, MPI_Op op);
const char* reduce_scatter(State& state, check::Call& call, const void* send, void* recv, Integers counts,
                           MPI_Datatype type, MPI_Op op);
const char* gather(State& state, check::Call& call, const Exchange& arguments, int root);
const char* scatter(State& state, check::Call& call, const Exchange& arguments, int root);
const char* allgather(State& state, check::Call& call, const Exchange& arguments);
const char* alltoall(State& state, check::Call& call, const Exchange& arguments);
const char* gatherv(State& state, check::Call& call, const Exchange& own, const Parted& parts, int root);
const char* scatterv(State& state, check::Call& call, const Parted& parts, const Exchange& own, int root);
const char* allgatherv(State& state, check::Call& call, const Exchange& own, const Parted& parts);
const char* alltoallv(State& state, check::Call& call, Operation operation, const Parted& send, const Parted& recv);
const char* neighbor_allgather(State& state, check::Call& call, MPI_Comm comm, const Exchange& arguments);
const char* neighbor_allgatherv(State& state, check::Call& call, MPI_Comm comm, const Exchange& own,
                                const Parted& parts);
const char* neighbor_alltoall(State& state, check::Call& call, MPI_Comm comm, const Exchange& arguments);
const char* neighbor_alltoallv(State& state, check::Call& call, MPI_Comm comm, Operation operation, const Parted& send,
                               const Parted& recv);

}  // namespace omnes::interpose
