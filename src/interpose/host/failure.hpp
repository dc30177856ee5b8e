// How a call that cannot go on ends: with a code of the host, through the communicator's error handler.
#pragma once

#include <atomic>
#include <string>

#include "interpose/host/handle_cache.hpp"
#include "interpose/host/host.hpp"

namespace omnes::interpose {

/// Thrown, and caught at the entry points.
struct Failure {
  int code;
  bool raised = false;  ///< the host has called the error handler itself
};

/// Of a function of the host on what is ours.
inline void check_own(int code) {
  if (code != MPI_SUCCESS) throw Failure{code};
}
/// Of one on a communicator of the program, whose error handler it calls itself.
inline void check_raised(int code) {
  if (code != MPI_SUCCESS) throw Failure{code, true};
}

/// Whether a communicator may be revoked at all: the host is to survive failures, or this process has revoked one.
inline constexpr std::atomic<bool>& may_be_revoked = seldom.may_be_revoked;

/// A new code whose MPI_Error_string is this line.
int code_saying(const std::string& line);
/// Calls the error handler. Returns the code for the program.
int raise(MPI_Comm comm, int code);
/// The same with a code that says this line.
int raise(MPI_Comm comm, const std::string& line);
/// In a handler of exceptions: the same for the one that is handled.
int raise_current(MPI_Comm comm);

}  // namespace omnes::interpose
