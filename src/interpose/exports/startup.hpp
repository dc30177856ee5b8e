// The process: set up before anything is served, asked whether it serves, and come to its end.
#pragma once

#include <string>

#include "interpose/communicator/state.hpp"

namespace omnes::interpose {

/// Gets ready to serve, on the first call between MPI_Init and MPI_Finalize. Returns why calls have to go to the host,
/// or null.
const char* prepare_process();

/// What is wrong with the settings, once; later, and when all is well, empty.
std::string take_complaint();

/// The host is initialised, and is of our family: the ranks of MPI_COMM_WORLD meet. Collective. Returns a code for the program.
int initialised();
/// Before the host is finalised: waits until nothing is under way. `caller`: of MPI_Finalize.
void begin_end(const void* caller);
/// The host is finalised: nothing is served any more.
void finalised();

inline constexpr const char* called_by_host_itself = "called by the host itself";

/// The communicator's state for a call in that form, if this process serves, see state_of(). Throws Failure.
Found find_state(MPI_Comm comm, Form form);

}  // namespace omnes::interpose
