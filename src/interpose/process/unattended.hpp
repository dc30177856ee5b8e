// What goes on in this process while the program is inside a function of the host: see background.hpp.
#pragma once

#include <cstdint>

namespace omnes::interpose {

/// The level of thread support to ask the host for, where the program asks for `level`: OMNES_ASYNC wants calls from any
/// thread.
int level_to_ask_for(int level);

/// What goes on while the program blocks inside a function of the host, and what who lets things progress may do; each
/// includes those before it.
enum class Unattended : std::uint8_t {
  shared_memory,  ///< data in shared memory, combined by our kernels
  host_calls,     ///< messages of the host, and its reduction functions
  everything      ///< functions of the program, too
};
/// In this process. After MPI_Init.
Unattended unattended();
/// By the thread that stands in for the program.
Unattended unattended_by_thread();

/// Whether blocking calls that the host was measured to be faster at may be left to it.
bool host_lets_others_go_on();

/// Whether the host's progress engine can call us: then a rank that waits in a function of the host wakes those that
/// sleep in a collective, as it may wait for them.
bool has_hook();
/// Whether it calls us where messages may be sent.
bool has_full_hook();

}  // namespace omnes::interpose
