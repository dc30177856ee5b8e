// Finds the state of a communicator: in this thread's cache, with its origin, in the communicator's attribute, or by
// making it.
#include "interpose/communicator/state.hpp"

#include <mutex>
#include <utility>

#include "interpose/communicator/membership.hpp"
#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose {

#ifndef OMNES_COMPONENT
OMNES_FAST_THREAD_LOCAL StateCache state_cache;
#endif

namespace {

int keyval = MPI_KEYVAL_INVALID;

/// By this thread: functions of the program that delete its attributes may still use it, but ours is gone for good.
OMNES_FAST_THREAD_LOCAL MPI_Comm being_freed;

/// Stands for every communicator of one rank on which there were blocking calls only: the host has nothing to do but to copy.
/// Never destroyed.
State& state_of_one() {
  static State* const the = [] {
    auto* const made = new State;
    made->passed = "one rank";
    made->repeats.leave_all_to_host();
    return made;
  }();
  return *the;
}

/// The communicator comes to its end. Operations under way, and persistent ones, keep the state.
void part(MPI_Comm comm, State& state) {
  StateCache::forget(comm);
  seal_segments();
  state.check.reset();
  state.detached = true;
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
    check_raised(host.Comm_set_attr(comm, keyval, &state));
    if (owner) state.held = std::move(owner);
  }
}

/// `membership`: its own, if that is known; `p` as of size_of().
std::shared_ptr<State> new_state(MPI_Comm comm, const Origin& origin, std::shared_ptr<Membership> membership, int p) {
  const char* passed = nullptr;
  if (!membership) {
    membership = ask_for_members(comm, p, origin.met.get(), passed);
    if (membership && origin.kin) keep_membership(membership, *origin.kin);
  }
  std::shared_ptr<State> state =
      membership ? state_for(std::move(membership)) : State::shared(std::make_unique<State>());
  state->passed = passed;
  state->id = origin.id;
  state->check_id = origin.check;
  return state;
}

/// Only one thread at a time makes them: calls that are not collective may look for a state, too, beside the first collective.
std::mutex making;

/// With the mutex `making`.
State& make(MPI_Comm comm, const Origin& origin, Form form) {
  std::shared_ptr<Membership> known = origin.kin ? membership_of(*origin.kin) : nullptr;
  const int p = known ? known->members.p : size_of(comm);
  const bool copies = p == 1 && !simulated && !reporting() && !recording();
  if (copies && form == Form::blocking) {
    keep(comm, origin, state_of_one(), nullptr);
    return state_of_one();
  }
  std::shared_ptr<State> made = new_state(comm, origin, std::move(known), p);
  State& state = *made;
  if (copies) state.repeats.leave_all_to_host();
  keep(comm, origin, state, std::move(made));
  enlist(state);
  return state;
}

/// Null: the host keeps none for us.
State* by_attribute(MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  check_raised(host.Comm_get_attr(comm, keyval, &attribute, &found));
  return found ? static_cast<State*>(attribute) : nullptr;
}

State* kept_with(const Origin& origin, MPI_Comm comm) {
  return origin.has_state() ? origin.state.get() : by_attribute(comm);
}

/// Null: there is none for a call in that form.
State* look_for(const Origin& origin, MPI_Comm comm, Form form) {
  State* const state = kept_with(origin, comm);
  return state == &state_of_one() && form != Form::blocking ? nullptr : state;
}

}  // namespace

State::State() { counts::enlist(*this); }
State::~State() { counts::retire(*this); }

void State::begin_anew() {
  unclean = detached = taking_part = false;
  broken = 0;
  if (!lanes) begun = formed = false;
  calls_before = 0;
  short_begun = 0;
}

void State::force(Operation operation, std::optional<Choice> choice) {
  own_choices = true;
  team->force(operation, std::move(choice));
  repeats.forget();
}

void State::break_off() {
  unclean = true;
  broken = MPI_ERR_OTHER;
  if (team) {
    team->lane().fail(broken);
    if (team->lane().sends_left())
      for (Staging& room : staging) room.leave();
  }
  repeats.forget();
}

std::shared_ptr<State> State::shared(std::unique_ptr<State> state) {
  return {state.release(), [](State* last) {
            std::unique_ptr<State> left(last);
            retire(*left);
            inherit(std::move(left));
          }};
}

State* state_kept_with(MPI_Comm comm) { return kept_with(origin_of(comm), comm); }

Found state_of(MPI_Comm comm, Form form) {
  const std::uint64_t generation = StateCache::generation(comm);
  if (comm == handles.comm_null) return {nullptr, "null communicator"};
  const Origin origin = origin_of(comm);
  State* state = look_for(origin, comm, form);
  if (!state) {
    if (origin.of_session) return {nullptr, "communicator of a session"};
    if (finalizing()) return {nullptr, "during MPI_Finalize"};
    if (comm == being_freed) return {nullptr, "during MPI_Comm_free"};
    if (origin.id == 0 && ranks_are_threads(comm)) return {nullptr, "ranks that are threads"};
    std::unique_lock lock(making, std::defer_lock);
    if (!simulated) lock.lock();  // there ranks are threads, and take turns
    const Origin now = origin_of(comm);
    state = look_for(now, comm, form);
    if (!state) state = &make(comm, now, form);
  }
  if (state == &state_of_one()) state_cache.put(comm, state, generation);
  if (!state->team) return {nullptr, state->passed};
  if (state->formed && !recording()) state_cache.put(comm, state, generation);
  return {state, nullptr};
}

int free_communicator(MPI_Comm comm, const std::function<int()>& free) {
  const MPI_Comm before = std::exchange(being_freed, comm);
  Origin origin = take_origin(comm);
  if (origin.state) part(comm, *origin.state);
#ifndef OMNES_ABI_SMPI
  if (origin.id == 0 && origin.met) {  // what it has needed goes first: ranks wait for each other to be disconnected
    void* attribute = nullptr;
    int found = 0;
    if (host.Comm_get_attr(comm, keyval, &attribute, &found) == MPI_SUCCESS && found)
      host.Comm_delete_attr(comm, keyval);
    origin.met.reset();
  }
#endif
  free_worlds();
  const int code = free();
  being_freed = before;
  if (code != MPI_SUCCESS && origin.id != 0) {  // it is still there
    if (origin.state) origin.state->detached = false;
    keep_origin(comm, std::move(origin));
  }
  return code;
}

int prepare_states() { return host.Comm_create_keyval(no_copy, free_state, &keyval, nullptr); }

void forget_states() { StateCache::forget_all(); }

}  // namespace omnes::interpose
