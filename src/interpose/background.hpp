// Progress while the program is elsewhere: inside a function of the host that we know nothing of, or computing.
//
// The host's progress engine calls us where it lets others in (Open MPI, MPICH 4.3 and later). With OMNES_ASYNC=1 there
// is a thread, too. It sleeps while nothing is under way, and while what is under way waits for other ranks. Unless
// the host allows calls from any thread, it only does what needs no host: data in shared memory.
#pragma once

namespace omnes::interpose {

/// The level of thread support to ask the host for, where the program asks for `level`: OMNES_ASYNC wants calls from any
/// thread.
int level_to_ask_for(int level);

/// Whether operations under way go on while a call of the host waits: also those that need messages of the host.
bool host_lets_others_go_on();

/// At the first operation.
void start_background();
/// Something is under way.
void wake_background();
void stop_background();

}  // namespace omnes::interpose
