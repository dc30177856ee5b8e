// How the ranks of a communicator become a team whose lanes are open.
#pragma once

#include <cstddef>

#include "interpose/communicator/state.hpp"

namespace omnes::interpose {

// The exchange is one collective of the host on the communicator itself. We are inside a collective of it, so it cannot
// meet the program's own; and it is one, so that a nonblocking operation need not wait for the others before it
// returns. Of an intercommunicator it is two (see Formation): there only calls that wait form it.
// Where all members are on this node and know the communicator by a number, the first one tells the others through its
// bulletin which lanes to use: without any call of the host, and without waiting for them.
/// All ranks together, at their first call that omnes serves: `wait` until the lanes are open, or return at once. Throws
/// Failure.
void open_lanes(State& state, MPI_Comm comm, bool wait);
/// Takes note of it if the exchange is over. Returns whether it is. By one thread at a time. Throws Failure.
bool try_formation(State& state);
/// Whether it takes calls of the host.
bool forms_by_host(const State& state);

/// A lane of nonblocking calls, once the lanes are there: programs that need none should not pay for its memory.
void open_nonblocking(State& state, Lane& lane);
/// The one for such an operation, which takes part in it with `call`. Counts it: all ranks ask in the same order, with calls that match and
/// have something to do.
Lane& nonblocking_lane(State& state, const Call& call);

/// A lane of its own for a persistent operation. Collective. Throws Failure.
State::Own& take_lane(State& state, MPI_Comm comm);

/// Brings `bytes` bytes of every rank to all. Collective. Throws Failure.
void gather_from_all(const State& state, const void* mine, void* all, std::size_t bytes, MPI_Comm comm);

}  // namespace omnes::interpose
