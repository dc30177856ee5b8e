// Calls of the host by us that may come back to us.
#pragma once

#include <utility>

#include "interpose/host/handle_cache.hpp"
#include "interpose/host/host.hpp"

namespace omnes::interpose {

inline OMNES_FAST_THREAD_LOCAL bool inside_host = false;

/// While there is one, this thread has the host run a collective for us.
struct InsideHost {
  InsideHost() { inside_host = true; }
  ~InsideHost() { inside_host = before; }
  const bool before = inside_host;
};

/// Then what comes back to us is the host's to run. Only what is called first, where the host, while it waits, may also call us for others.
inline bool called_by_host() { return component ? std::exchange(inside_host, false) : inside_host; }

}  // namespace omnes::interpose
