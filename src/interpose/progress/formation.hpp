// How the ranks of a communicator become a team whose lanes are open.
#pragma once

#include <memory>
#include <vector>

#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/state.hpp"

namespace omnes::interpose {

/// What a rank brings to the exchange.
struct Offer {
  shm::Ticket ticket;
  int first_tag = -1;
  bool wanted = false;  ///< this rank is to make a segment for its node
  bool made = false;    ///< and did: the ticket is of use
};

/// The exchange while it is under way.
struct Formation {
  std::unique_ptr<Lanes> lanes;
  Offer mine;
  std::vector<Offer> all;
  MPI_Request request;
};

/// The members' ranks in MPI_COMM_WORLD; empty when some were not started together with this one (MPI_Comm_spawn,
/// MPI_Comm_connect): they may not have this library. Throws Failure.
std::vector<int> ranks_in_world(MPI_Comm comm, int p);

/// Finds out who the members are and makes their team, or says why there is none; alike on all ranks. Local. Throws
/// Failure.
std::shared_ptr<State> new_state(MPI_Comm comm, const Origin& origin);

// The exchange is one collective of the host on the communicator itself. We are inside a collective of it, so it cannot
// meet the program's own; and it is one, so that a nonblocking operation need not wait for the others before it
// returns.
// Where all members are on this node and know the communicator by a number, the first one tells the others through its
// bulletin which lanes to use: without any call of the host, and without waiting for them.
/// `wait`: the caller goes on to end_formation().
void begin_formation(const std::shared_ptr<State>& state, MPI_Comm comm, bool wait);
/// Takes note of it if the exchange is over. Returns whether it is. By one thread at a time. Throws Failure.
bool try_formation(State& state);
/// Whether it takes calls of the host.
bool forms_by_host(const State& state);
/// Waits for it. Throws Failure.
void end_formation(State& state, MPI_Comm comm);

/// The lane of nonblocking calls, once the lanes are there: programs that need none should not pay for its memory.
void open_nonblocking(State& state);

/// A lane of its own for a persistent operation. Collective. Throws Failure.
State::Own& take_lane(State& state, MPI_Comm comm);

/// Brings `bytes` bytes of every rank to all. Collective. Throws Failure.
void gather_from_all(const void* mine, void* all, std::size_t bytes, MPI_Comm comm);

/// Lets those segments go nameless that all ranks have found. Returns whether none is left.
bool seal_segments();

/// True while this thread has the host run a collective for us, which may come back to us: then it is the host's to
/// run.
bool called_by_host();

/// Whether it is one of MPICH's thread communicators (MPIX_Threadcomm_init): several threads of a process are in one
/// collective at once, each as a rank of its own. Throws Failure.
bool ranks_are_threads(MPI_Comm comm);

}  // namespace omnes::interpose
