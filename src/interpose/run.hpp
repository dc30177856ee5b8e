// Runs a call on the team of a communicator; what goes wrong becomes an error of the host.
#pragma once

#include "interpose/failure.hpp"
#include "interpose/state.hpp"

namespace omnes {

inline void run(State& state, const Call& call) {
  const int code = state.team->run(call);
  if (code != 0) [[unlikely]]
    throw Failure{code == Team::truncated ? MPI_ERR_TRUNCATE : code};
}

}  // namespace omnes
