// The state of one communicator: its team, made at the first collective on it and freed with it.
#pragma once

#include <cstdlib>
#include <memory>

#include "interpose/handle_cache.hpp"
#include "interpose/host.hpp"
#include "interpose/neighbors.hpp"
#include "runtime/team.hpp"

namespace omnes {

/// Contiguous memory for what must be packed; grows, and keeps what it has. Aligned for any type.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() { std::free(data_); }
  /// Throws std::bad_alloc.
  std::byte* room(std::size_t bytes);

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct State {
  int p = 1;
  int rank = 0;
  std::unique_ptr<Team> team;    ///< null: the host serves this communicator
  const char* passed = nullptr;  ///< and why
  MPI_Comm shadow;               ///< carries the team's messages; the null communicator when there are none
  Staging staging[3];
  std::unique_ptr<Edges> edges;  ///< of its topology; looked up when first needed
};

struct Found {
  State* state = nullptr;        ///< with a team; null: call the host
  const char* reason = nullptr;  ///< why
};

/// The state of the communicator; made, by all its ranks together, if there is none. Throws Failure.
Found state_of(MPI_Comm comm);

using StateCache = HandleCache<MPI_Comm, State, 16>;
extern OMNES_FAST_THREAD_LOCAL StateCache state_cache;

/// The communicator's state if this thread knows it, else null. This is the fast path.
inline State* known_state(MPI_Comm comm) { return state_cache.find(comm); }

/// Makes what state_of needs; once, after the host is initialised. Returns the host's error code.
int prepare_states();

/// After MPI_Finalize nothing may be found any more.
void forget_states();

}  // namespace omnes
