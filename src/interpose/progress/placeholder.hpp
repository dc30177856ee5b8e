// What the program holds for an operation under way: a placeholder, a request of the host's own that completes when the operation does.
#pragma once

#include <atomic>

#include "interpose/host/host.hpp"

namespace omnes::interpose::engine {

struct Pending;

// Behind the engine's gate, all but the second. Those that make one set `pending.request`, and throw Failure.

/// Of a nonblocking operation: it is active.
void take_placeholder(Pending& pending);
/// Of a persistent operation: it is inactive.
void make_persistent_placeholder(Pending& pending);
/// That one is started.
void start_placeholder(Pending& pending);
/// Completes it: with an error where the operation has failed, of which the host knows no more. It still is the program's to wait for.
void complete_placeholder(Pending& pending);
/// The host was not told of the end of a nonblocking operation, and need not be: the placeholder serves another one.
void return_placeholder(Pending& pending);

/// In place of one, for an operation that has ended in its own call: a request that is complete. Throws Failure.
MPI_Request completed_request();

/// The codes of operations that have failed so, by their requests, until the program has completed these.
extern std::atomic<int> failed_count;
inline bool any_has_failed() { return failed_count.load(std::memory_order_acquire) > 0; }
/// 0: it is none of them.
int failure_of(MPI_Request request);
/// The same for the last time.
int take_failure(MPI_Request request);

/// The operation is gone.
void forget_placeholder(Pending& pending);
/// Before the end, behind the gate: no placeholder stays.
void end_idle_placeholders();

}  // namespace omnes::interpose::engine
