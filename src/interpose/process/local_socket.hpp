// Sockets by which processes of a machine find out whether others have this library, under names that both can tell.
//
// Why: who has it not takes no part in what is ours, and MPI has no way to ask: a message of ours would be found by such a program.
#pragma once

#include <chrono>
#include <string>

namespace omnes::interpose {

/// Listens there; -1: it cannot. Accepting does not wait.
int listen_at(const std::string& name);
/// Calls who listens there, a process of this user; -1: there is none.
int call_at(const std::string& name);
/// The next one who has called, a process of this user; -1: nobody.
int next_visitor(int socket);

/// Tells which build of this library this is.
bool say_build(int socket);
/// Whether the other one has told that he has the same, or perhaps nothing yet.
bool is_of_same_build(int socket);

/// The answer of who has been called. Whether it is heard.
bool answer(int socket, bool agreed);
/// Waits for it, and calls `look` every now and then; who is gone, or says nothing for so long, has said no. Afterwards no answer is heard.
bool is_answered(int socket, void (*look)(), std::chrono::seconds patience);

}  // namespace omnes::interpose
