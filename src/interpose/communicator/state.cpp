// Finds the state of a communicator: in this thread's cache, with its origin, in the communicator's attribute, or by
// making it.
//
// Opening the lanes is collective, like the call that wants it, and MPI lets only one thread at a time be in a
// collective of one communicator. So no lock is held meanwhile, and threads of different communicators cannot block
// each other in different orders on different ranks.
#include "interpose/communicator/state.hpp"

#include <new>
#include <utility>

#include "interpose/communicator/membership.hpp"
#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"
#include "interpose/progress/formation.hpp"

namespace omnes::interpose {

OMNES_FAST_THREAD_LOCAL StateCache state_cache;

namespace {

int keyval = MPI_KEYVAL_INVALID;

/// By this thread: functions of the program that delete its attributes may still use it, but ours is gone for good.
OMNES_FAST_THREAD_LOCAL MPI_Comm being_freed;

/// Stands for every communicator of one rank: the host has nothing to do but to copy, and needs no time to begin. Never destroyed.
State& state_of_one() {
  static State* const the = [] {
    auto* const made = new State;
    made->passed = "one rank";
    made->repeats.leave_all_to_host();
    return made;
  }();
  return *the;
}

bool has_one_rank(MPI_Comm comm) {
  int inter = 0, p = 0;
  if (const int code = host.Comm_test_inter(comm, &inter); code != MPI_SUCCESS) throw Failure{code, true};
  if (const int code = host.Comm_size(comm, &p); code != MPI_SUCCESS) throw Failure{code, true};
  return p == 1 && !inter;
}

/// The communicator comes to its end. Operations under way, and persistent ones, keep the state.
void part(MPI_Comm comm, State& state) {
  StateCache::forget(comm);
  seal_segments();
  state.detached = true;
}

/// MPI_Comm_free, or MPI_Comm_disconnect.
int free_by(int (*Host::*function)(MPI_Comm*), void* comm) {
  if (find_host() != built_for || !comm) return call_host(host.*function, comm);
  const MPI_Comm handle = *static_cast<MPI_Comm*>(comm);
  const record::Within within;
  if (recording()) record::freed(handle);
  const MPI_Comm before = std::exchange(being_freed, handle);
  Origin origin = take_origin(handle);
  if (origin.state) part(handle, *origin.state);
  const int code = call_host(host.*function, comm);
  being_freed = before;
  if (code != MPI_SUCCESS && origin.id != 0) {  // it is still there
    if (origin.state) origin.state->detached = false;
    keep_origin(handle, std::move(origin));
  }
  return code;
}

int no_copy(MPI_Comm, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

int free_state(MPI_Comm comm, int, void* attribute, void*) {
  if (attribute == &state_of_one()) {
    StateCache::forget(comm);
    return MPI_SUCCESS;
  }
  const std::shared_ptr<State> state = std::move(static_cast<State*>(attribute)->held);
  part(comm, *state);
  return MPI_SUCCESS;
}

/// With its origin or its attribute.
void keep(MPI_Comm comm, const Origin& origin, State& state, std::shared_ptr<State> owner) {
  if (origin.has_state()) {
    keep_state(comm, std::shared_ptr<State>(std::move(owner), &state));
  } else {
    if (const int code = host.Comm_set_attr(comm, keyval, &state); code != MPI_SUCCESS) throw Failure{code, true};
    if (owner) state.held = std::move(owner);
  }
}

State& make(MPI_Comm comm, const Origin& origin) {
  const bool each_counts = reporting() || recording();
  if (!simulated && !each_counts && has_one_rank(comm)) {
    keep(comm, origin, state_of_one(), nullptr);
    return state_of_one();
  }
  std::shared_ptr<State> made = new_state(comm, origin);
  State& state = *made;
  keep(comm, origin, state, std::move(made));
  enlist(state);
  return state;
}

/// Null: the host keeps none for us.
State* by_attribute(MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  if (const int code = host.Comm_get_attr(comm, keyval, &attribute, &found); code != MPI_SUCCESS)
    throw Failure{code, true};
  return found ? static_cast<State*>(attribute) : nullptr;
}

}  // namespace

State::State() = default;
State::~State() = default;

void State::begin_anew() {
  unclean = detached = false;
  broken = 0;
  if (!lanes) begun = formed = false;
}

std::shared_ptr<State> State::shared(std::unique_ptr<State> state) {
  return {state.release(), [](State* last) {
            std::unique_ptr<State> left(last);
            retire(*left);
            inherit(std::move(left));
          }};
}

std::byte* Staging::room(std::size_t bytes) {
  if (bytes <= sizeof few_) return few_;
  if (bytes > bytes_) {
    std::free(data_);
    constexpr std::size_t page = 4096;
    bytes_ = (bytes + page - 1) / page * page;
    data_ = static_cast<std::byte*>(std::aligned_alloc(page, bytes_));
    if (!data_) {
      bytes_ = 0;
      throw std::bad_alloc();
    }
  }
  return data_;
}

Found state_of(MPI_Comm comm) {
  const std::uint64_t generation = StateCache::generation(comm);
  if (called_by_host()) return {nullptr, called_by_host_itself};
  if (find_host() != built_for) return {nullptr, "MPI of another family"};
  if (const char* reason = prepare_process()) return {nullptr, reason};
  if (!world()) return {nullptr, "MPI_Init did not pass through omnes"};
  if (comm == handles.comm_null) return {nullptr, "null communicator"};
  const Origin origin = origin_of(comm);
  State* state = origin.has_state() ? origin.state.get() : by_attribute(comm);
  if (!state) {
    if (origin.of_session) return {nullptr, "communicator of a session"};
    if (finalizing()) return {nullptr, "during MPI_Finalize"};
    if (comm == being_freed) return {nullptr, "during MPI_Comm_free"};
    if (origin.id == 0 && ranks_are_threads(comm)) return {nullptr, "ranks that are threads"};
    state = &make(comm, origin);
  }
  if (state == &state_of_one()) state_cache.put(comm, state, generation);
  if (!state->team) return {nullptr, state->passed};
  if (state->formed && !recording()) state_cache.put(comm, state, generation);
  return {state, nullptr};
}

void open_lanes(State& state, MPI_Comm comm, bool wait) {
  if (state.formed) [[likely]]
    return;
  if (!state.begun) begin_formation(state.shared_from_this(), comm, wait);
  if (!wait) return;
  end_formation(state, comm);
  if (!recording())
    state_cache.put(comm, &state, StateCache::generation(comm));  // nobody frees it while it is in a call
}

OMNES_EXPORT(Comm_free, void* comm) { return free_by(&Host::Comm_free, comm); }

OMNES_EXPORT(Comm_disconnect, void* comm) { return free_by(&Host::Comm_disconnect, comm); }

int prepare_states() { return host.Comm_create_keyval(no_copy, free_state, &keyval, nullptr); }

void forget_states() { StateCache::forget_all(); }

}  // namespace omnes::interpose
