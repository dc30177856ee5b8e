// How the ranks of a communicator become a team.
#pragma once

#include <memory>

#include "interpose/state.hpp"

namespace omnes {

/// Collective. All ranks get a team, or none (then State::passed says why). Throws Failure.
std::unique_ptr<State> form(MPI_Comm comm);

}  // namespace omnes
