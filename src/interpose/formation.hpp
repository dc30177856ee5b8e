// How the ranks of a communicator become a team.
#pragma once

#include <memory>

#include "interpose/state.hpp"

namespace omnes {

/// Collective. All ranks get a team, or none (then State::passed says why). Throws Failure.
std::unique_ptr<State> form(MPI_Comm comm);

/// Lets the host's progress engine run. (A probe would not do: hosts look for messages from oneself without running
/// it.)
void poke(void* context);

}  // namespace omnes
