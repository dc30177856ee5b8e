// Finds the state of a communicator: in this thread's cache, in the communicator's attribute, or by making it.
//
// Making a state is collective, like the call that wants it, and MPI lets only one thread at a time be in a
// collective of one communicator. So no lock is held meanwhile, and threads of different communicators cannot block
// each other in different orders on different ranks.
#include "interpose/state.hpp"

#include <new>

#include "interpose/failure.hpp"
#include "interpose/formation.hpp"
#include "interpose/process.hpp"
#include "interpose/report.hpp"

namespace omnes {

OMNES_FAST_THREAD_LOCAL StateCache state_cache;

namespace {

// The host's own collectives may come back to us while a state is being made: then they are the host's to run.
OMNES_FAST_THREAD_LOCAL bool making = false;
int keyval = MPI_KEYVAL_INVALID;

int no_copy(MPI_Comm, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

int free_state(MPI_Comm, int, void* attribute, void*) {
  StateCache::forget_all();
  const std::unique_ptr<State> state(static_cast<State*>(attribute));
  retire(*state);
  // MPI_Comm_free is collective, so this may be; in MPI_Finalize it is too late for communication.
  if (!finalizing() && state->shadow != handles.comm_null) host.Comm_free(&state->shadow);
  return MPI_SUCCESS;
}

struct Making {
  Making() { making = true; }
  ~Making() { making = false; }
};

State* make(MPI_Comm comm) {
  const Making guard;
  std::unique_ptr<State> state = form(comm);
  if (const int code = host.Comm_set_attr(comm, keyval, state.get()); code != MPI_SUCCESS) throw Failure{code, true};
  enlist(*state);
  return state.release();
}

}  // namespace

std::byte* Staging::room(std::size_t bytes) {
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
  if (making) return {nullptr, "called by the host itself"};
  if (find_host() != built_for) return {nullptr, "MPI of another family"};
  if (const char* reason = prepare_process()) return {nullptr, reason};
  if (comm == handles.comm_null) return {nullptr, "null communicator"};
  void* attribute = nullptr;
  int found = 0;
  if (const int code = host.Comm_get_attr(comm, keyval, &attribute, &found); code != MPI_SUCCESS)
    throw Failure{code, true};
  if (!found && finalizing()) return {nullptr, "during MPI_Finalize"};
  State* state = found ? static_cast<State*>(attribute) : make(comm);
  if (!state->team) return {nullptr, state->passed};
  state_cache.put(comm, state);
  return {state, nullptr};
}

int prepare_states() { return host.Comm_create_keyval(no_copy, free_state, &keyval, nullptr); }

void forget_states() { StateCache::forget_all(); }

}  // namespace omnes
