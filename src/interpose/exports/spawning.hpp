// Processes that are started while the program runs, and other jobs that it meets.
#pragma once

#include "interpose/host/host.hpp"

namespace omnes::interpose {

/// In one that was started so, in MPI_Init: those that have started it and the others started with it meet, if all of them can. Returns a
/// code for the program.
int meet_parents();

/// Whether all members of this communicator have met, so that they can meet others. Throws Failure.
bool have_met(MPI_Comm comm);
/// Those of both groups meet, who all have this library. `are_second`: these come behind the others. Collective over both. Throws
/// Failure.
void meet_between(MPI_Comm inter, bool are_second);

}  // namespace omnes::interpose
