// What the program's buffered messages need of us.
#pragma once

#include <atomic>

namespace omnes::interpose {

/// Before a send takes space in an attached buffer. Open MPI frees what has been received nowhere but in its progress engine, which its own
/// collectives enter and ours need not; a buffered send that finds no space fails.
void free_attached_buffers();

/// The program has made a persistent buffered send: any start may be one.
extern std::atomic<bool> starts_may_be_buffered;

}  // namespace omnes::interpose
