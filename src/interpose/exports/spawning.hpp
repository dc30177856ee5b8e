// Processes that are started while the program runs.
#pragma once

namespace omnes::interpose {

/// In one that was started so, in MPI_Init: those that have started it and the others started with it meet, if all of them can. Returns a
/// code for the program.
int meet_parents();

}  // namespace omnes::interpose
