// The MPI functions that a program reaches instead of its MPI's own.
//
// How: each function is exported under two names, MPI_X and PMPI_X. The second catches callers inside the host, such
// as Open MPI's Fortran layer. Handles are taken as wide as they can be in any family (see Wide), so that a program
// of another family loses nothing when its calls are only handed on.
// Cost: for a communicator that this thread knows, a look-up of a few nanoseconds before the operation's own
// function.
#include <chrono>
#include <exception>
#include <new>

#include "interpose/call.hpp"
#include "interpose/failure.hpp"
#include "interpose/process.hpp"
#include "interpose/report.hpp"
#include "interpose/state.hpp"

// Declares and opens the definition of a function exported as MPI_name and PMPI_name.
#define OMNES_EXPORT(name, ...) OMNES_EXPORT_EXPANDED(name, __VA_ARGS__)
#define OMNES_EXPORT_EXPANDED(name, ...)                                                                              \
  extern "C" __attribute__((visibility("default"))) int omnes_##name(__VA_ARGS__) asm("MPI_" #name);                  \
  extern "C"                                                                                                          \
      __attribute__((visibility("default"), alias("MPI_" #name))) int omnes_p_##name(__VA_ARGS__) asm("PMPI_" #name); \
  extern "C" int omnes_##name(__VA_ARGS__)

namespace omnes {

namespace {

/// The host's function with handles as wide as ours. Both conventions agree: a narrower argument is the low part of a
/// register or stack slot.
template <class... Arguments, class Function>
int call_host(Function function, Arguments... arguments) {
  if (!function) return MPI_ERR_UNSUPPORTED_OPERATION;  // an older host, without large counts
  const auto untyped = reinterpret_cast<void (*)()>(function);
  return reinterpret_cast<int (*)(Arguments...)>(untyped)(arguments...);
}

/// Has the host do it, and counts that.
template <class Pass>
[[gnu::noinline]] int pass_on(Operation operation, const char* reason, Pass pass) {
  if (!reporting()) return pass();
  const auto start = std::chrono::steady_clock::now();
  const int code = pass();
  count_passed(operation, reason, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return code;
}

bool revoked(MPI_Comm comm) {
  int flag = 0;
  return host.Comm_is_revoked && host.Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag;
}

/// Serves a call: `serve` returns null when it is done, or why `pass` has to do it.
template <class Serve, class Pass>
int dispatch(Operation operation, Wide wide_comm, Serve serve, Pass pass) {
  const MPI_Comm comm = narrow<MPI_Comm>(wide_comm);
  const char* reason = nullptr;
  try {
    State* state = known_state(comm);
    if (!state) [[unlikely]] {
      const Found found = state_of(comm);
      state = found.state;
      reason = found.reason;
    }
    if (state) {
      reason = revoked(comm) ? "revoked communicator" : serve(*state);
      if (!reason) [[likely]]
        return MPI_SUCCESS;
    }
  } catch (const Failure& failure) {
    return failure.raised ? failure.code : raise(comm, failure.code);
  } catch (const std::bad_alloc&) {
    return raise(comm, MPI_ERR_NO_MEM);
  } catch (const std::exception& error) {
    return raise(comm, error.what());
  }
  if (const std::string complaint = take_complaint(); !complaint.empty()) return raise(comm, complaint);
  return pass_on(operation, reason, pass);
}

int initialised(int code) {
  if (code != MPI_SUCCESS || find_host() != built_for) return code;
  prepare_process();
  const std::string complaint = take_complaint();
  return complaint.empty() ? code : raise(handles.comm_world, complaint);
}

Exchange exchange(const void* send, MPI_Count send_count, Wide send_type, void* recv, MPI_Count recv_count,
                  Wide recv_type) {
  return {send, send_count, narrow<MPI_Datatype>(send_type), recv, recv_count, narrow<MPI_Datatype>(recv_type)};
}

Exchange sending(const void* send, MPI_Count count, Wide type) {
  return {send, count, narrow<MPI_Datatype>(type), nullptr, 0, {}};
}
Exchange receiving(void* recv, MPI_Count count, Wide type) {
  return {nullptr, 0, {}, recv, count, narrow<MPI_Datatype>(type)};
}

Parted parted(const void* buffer, Integers counts, Integers places, Wide type) {
  return {buffer, counts, places, narrow<MPI_Datatype>(type), nullptr};
}
Parted parted(const void* buffer, Integers counts, Integers places, const MPI_Datatype* types) {
  return {buffer, counts, places, {}, types};
}

}  // namespace

OMNES_EXPORT(Init, int* argc, char*** argv) {
  find_host();
  return initialised(host.Init(argc, argv));
}

OMNES_EXPORT(Init_thread, int* argc, char*** argv, int required, int* provided) {
  find_host();
  return initialised(host.Init_thread(argc, argv, required, provided));
}

OMNES_EXPORT(Finalize, void) {
  find_host();
  const int code = host.Finalize();
  forget_states();
  return code;
}

OMNES_EXPORT(Barrier, Wide comm) {
  return dispatch(
      Operation::barrier, comm, [&](State& state) { return barrier(state); },
      [&] { return call_host(host.Barrier, comm); });
}

#define OMNES_NAME(name) name
#define OMNES_COUNT int
#define OMNES_PLACE int
#include "interpose/collectives.inc"
#undef OMNES_NAME
#undef OMNES_COUNT
#undef OMNES_PLACE

#ifdef OMNES_LARGE_COUNTS
#define OMNES_NAME(name) name##_c
#define OMNES_COUNT MPI_Count
#define OMNES_PLACE MPI_Aint
#include "interpose/collectives.inc"
#endif

}  // namespace omnes
