// Ranks that die while the host survives it (ULFM: Open MPI's --with-ft ulfm). Others that wait for one get an error then, and not only
// those: whoever is in an operation of a communicator of which a member has died, or which has been revoked.
//
// Why no rank that succeeds has wrong data: where the host survives failures all that ranks hand over lies in slots, which stay as they
// are; none reads the memory of another rank, whose operation may have failed and whose program goes on with its buffers.
#pragma once

#include <cstdint>

#include "interpose/communicator/state.hpp"
#include "interpose/host/failure.hpp"

namespace omnes::interpose::failures {

/// What operations end with that a dead rank takes part in. The codes have names in headers of later versions only.
constexpr int proc_failed = built_for == Family::ompi ? 75 : MPI_ERR_OTHER;
/// Whether a request that fails with this code is still under way: it waits for a message from any rank, and one has died.
constexpr bool leaves_pending(int code) { return built_for == Family::ompi && code == 76; }

/// Whether the host goes on after a rank has died. Alike on all ranks.
bool are_survived();

/// In MPI_COMM_WORLD, as far as the host knows.
bool are_known();

/// The code with which operations of the communicator have to end; 0: none. Of a detached one only its members count.
int code_for(const State& state, MPI_Comm comm);
/// When to ask for it: now and then.
class Pace {
 public:
  bool is_time();

 private:
  std::int64_t next_ = 0;  // ns
};

/// While it lives, poke() by this thread throws Failure when the communicator's operations have to end.
class Watch {
 public:
  Watch(const State& state, MPI_Comm comm) {
    if (may_be_revoked.load(std::memory_order_relaxed)) [[unlikely]]
      begin(state, comm);
  }
  ~Watch() {
    if (begun_) [[unlikely]]
      end();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void begin(const State& state, MPI_Comm comm);
  void end();

  bool begun_ = false;
  const State* state_before_ = nullptr;
  MPI_Comm comm_before_ = {};
};

/// In poke(). Throws Failure.
void look_for_watched();

}  // namespace omnes::interpose::failures
