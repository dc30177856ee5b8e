// What the program holds for an operation under way: a request of omnes's own kind (requests.c). Open MPI is always told of its end.
#include "interpose/progress/placeholder.hpp"

#include "component/bridge.h"
#include "interpose/host/failure.hpp"
#include "interpose/progress/engine.hpp"

namespace omnes::interpose::engine {

namespace {

void make(Pending& pending, bool persistent) {
  pending.request = omnes_make_request(pending.comm, persistent);
  if (!pending.request) throw Failure{MPI_ERR_NO_MEM};
}

}  // namespace

void take_placeholder(Pending& pending) { make(pending, false); }
void make_persistent_placeholder(Pending& pending) { make(pending, true); }
void start_placeholder(Pending& pending) { omnes_activate(pending.request); }

void complete_placeholder(Pending& pending) {
  if (pending.request)
    omnes_complete(pending.request, pending.state->detached ? handles.comm_self : pending.comm, pending.code);
}

MPI_Request completed_request() { return omnes_completed_request(); }

// These are only made and returned one by one.
void return_placeholder(Pending&) {}
void forget_placeholder(Pending&) {}
void end_idle_placeholders() {}

}  // namespace omnes::interpose::engine
