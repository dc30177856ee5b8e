// Progress while the program is elsewhere: inside a function of the host that we know nothing of, or computing.
//
// MPI's progress rule: an operation that a rank has started must not need that rank's next call of MPI, if the rank blocks inside one. So
// what is under way has to go on while the program sits in MPI_Comm_split, MPI_Win_fence or MPI_File_open:
// * The host's progress engine calls us where it lets others in (Open MPI; MPICH 4.3 and later, unless it has locks, which it may hold then). In its
//   one-sided functions MPICH does not, but there it calls UCX, which we see (exports/ucx.cpp); if it was built for another library, its hook does not count.
// * Elsewhere a thread stands in for the program: it looks now and then whether the program has been in our engine lately, and if not, moves
//   what is under way. Unless the host allows calls from any thread it moves data in shared memory, and nothing else.
// Operations that need more than that where they are run are left to the host from the start: see `Unattended`.
// With OMNES_ASYNC=1 the thread does not wait for the program to be away. It sleeps while nothing is under way, and while what is under way
// waits for other ranks.
#pragma once

namespace omnes::interpose {

/// Has the host's progress engine call us.
void hook_into_host();
/// In the host's progress engine, where it waits: what the hook would do, if that was not called since the last time.
void advance_unless_hooked();
/// Where ranks share CPUs: from now on the host keeps none of them while it waits.
void let_others_run();
/// At the first operation.
void start_background();
/// Something is under way.
void wake_background();
void stop_background();

}  // namespace omnes::interpose
