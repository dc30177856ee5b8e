// The collectives that a program reaches instead of its MPI's own, in their three forms.
//
// Cost: for a communicator that this thread knows, a look-up of a few nanoseconds before the operation's own
// function.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "interpose/check/check.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/communicator/repeats.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/communicator/state.hpp"
#include "interpose/describe/aliases.hpp"
#include "interpose/describe/describe.hpp"
#include "interpose/devices/devices.hpp"
#include "interpose/exports/entry.hpp"
#include "interpose/exports/startup.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/host/inside.hpp"
#include "interpose/process/own_memory.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"
#include "interpose/progress/engine.hpp"
#include "interpose/progress/failures.hpp"
#include "interpose/progress/formation.hpp"

namespace omnes::interpose {

namespace {

/// What statistics say of a call that goes to the host.
struct Size {
  std::size_t bytes = 0;  ///< of a part
  int root = 0;
};
constexpr auto no_size = [] { return Size{}; };

std::size_t bytes_of(std::uint64_t count, std::uint64_t type) {
  const auto handle = narrow<MPI_Datatype>(static_cast<Wide>(type));
  MPI_Count size = 0;
  if (count == 0 || static_cast<std::int64_t>(count) < 0 || handle == handles.type_null) return 0;
  return host.Type_size_x(handle, &size) == MPI_SUCCESS && size > 0 ? count * static_cast<std::size_t>(size) : 0;
}

/// Of equal parts, by what is given on this rank; of unequal ones nobody knows all.
template <class... Arguments>
Size size_of(Operation operation, const Given<Arguments...>& given) {
  constexpr int words = Given<Arguments...>::words;
  const int root = rooted(operation) ? static_cast<int>(given.word[words - 1]) : 0;
  if constexpr (Given<Arguments...>::arrays > 0 || words < 4) return {0, root};
  const auto word = [&](int i) { return given.word[std::min(i, words - 1)]; };
  const bool exchanges = !reduces(operation) && operation != Operation::bcast;  // two counts, and two types
  const bool by_received = operation == Operation::scatter  ? given.recv != MPI_IN_PLACE
                           : operation == Operation::gather ? given.send == MPI_IN_PLACE
                                                            : true;
  return {exchanges && by_received ? bytes_of(word(3), word(4)) : bytes_of(word(1), word(2)), root};
}

/// Has the host do it, and counts that; `size`: of the call.
template <class Size, class Pass>
[[gnu::noinline]] int pass_on(MPI_Comm comm, State* state, Operation operation, Form form, const char* reason,
                              Size size, Pass pass) {
  if (reason != called_by_host_itself) {
    counts::count(counts::passed, operation);
    if (recording()) record::left_out(operation, form, reason);
  }
  if (!reporting()) return pass();
  const auto [bytes, root] = size();
  PassedCall call(comm, state, operation, form, reason, root, bytes);
  const int code = pass();
  call.end(code);
  return code;
}

/// Hosts run some calls with negative counts: for those a rank would wait, or write before its buffers.
bool host_looks_at_counts(Operation operation) {
  if constexpr (built_for == Family::ompi)
    return operation != Operation::allgatherv && operation != Operation::neighbor_allgatherv;
  return operation != Operation::reduce_scatter_block;
}

/// What a call is: in which form, where from, and where its request goes, if it gets one.
struct Made {
  Operation operation;
  Form form;
  const void* caller;
  MPI_Request* request = nullptr;
};

/// Whether the host's own first collective of a communicator over several nodes costs no more than a later one. Open MPI 5 then makes
/// communicators for its coll/han, which takes longer than to open lanes.
bool host_begins_quickly() {
  if constexpr (built_for != Family::ompi) return true;
  static const bool is_open_mpi_4 = dlsym(RTLD_DEFAULT, "MPI_Session_init") == nullptr;
  return is_open_mpi_4;
}

/// Why a call is left to the host that is among the first on its communicator: over several nodes, lanes are opened by an exchange of all
/// ranks, which takes as long as some calls, and many communicators are used for no more. Null: it is not. Alike on all ranks. Not
/// where the program wants to know what runs, nor of reductions, where the same call is to give the same bits again.
const char* too_new(State& state, MPI_Comm comm, Operation operation, Form form) {
  constexpr std::uint8_t calls_by_host = 4;
  // Those without elements Open MPI does not hand on to a component: who has nothing to do with the root need not come.
  if (component && state.first_group > 0 && rooted(operation) && (form == Form::persistent || !state.begun))
    return "with a root on an intercommunicator, persistent or before all others";
  if (state.begun || !state.messages || simulated || comm == handles.comm_world || form == Form::persistent)
    return nullptr;
  const Settings& settings = process().settings;
  const auto any = [](const auto& forced) {
    return std::ranges::any_of(forced, [](const auto& choice) { return choice.has_value(); });
  };
  if (reduces(operation) || state.own_choices || settings.fake_nodes > 1 || settings.transport == Transport::mpi ||
      any(settings.forced) || any(settings.forced_not_blocking) || checking() || recording() || !host_begins_quickly())
    return nullptr;
  return state.calls_before++ < calls_by_host ? "one of the first calls of a communicator over several nodes" : nullptr;
}

/// Serves a call: `serve` does so with the communicator's state and returns null, or why `pass` has to do it. `describe`: as below.
template <class Describe, class Serve, class Size, class Pass>
int dispatch(const Made& made, On on, Describe describe, Serve serve, Size size, Pass pass) {
  const auto [operation, form, caller, request] = made;
  if (component && (!world() || called_by_host())) return pass();  // MPI_Init is not over, or it is one of ours
  const record::Within within;
  std::optional<check::Entry> checked;
  const MPI_Comm comm = communicator(on);
  const char* reason = nullptr;
  State* state = known_state(on);
  try {
    if (!state || !state->team) [[unlikely]] {
      const Found found = find_state(comm, form);
      state = found.state;
      reason = found.reason;
    }
    if (state) {
      if (checking()) [[unlikely]] {
        checked.emplace(*state, comm, check::number_of(operation, form), form, caller);
        describe(*state, checked->call);
        checked->post();
      }
      reason = failures::code_for(*state, comm) != 0 ? "revoked communicator, or one with ranks that have failed"
                                                     : too_new(*state, comm, operation, form);
      if (!reason) {
        const failures::Watch watch(*state, comm);
        state->taking_part = false;
        // Perhaps by a nonblocking operation: then what is known runs no more either.
        if (const int code = state->broken) [[unlikely]] {
          state->break_off();
          throw Failure{code};
        }
        reason = serve(*state, comm);
      }
      if (!reason) [[likely]] {
        if (checked) checked->served(request);
        return MPI_SUCCESS;
      }
    }
  } catch (...) {
    if (checked) checked->failed();
    if (state) state->unclean = true;
    if (state && state->taking_part) state->break_off();
    return raise_current(comm);
  }
  if (const std::string complaint = take_complaint(); !complaint.empty()) return raise(comm, complaint);
  if (reason == negative_count && !host_looks_at_counts(operation)) return raise(comm, MPI_ERR_COUNT);
  return pass_on(comm, state, operation, form, reason, size, pass);
}

constexpr int unlike_any = -1, left_to_host = -2;  // no codes of a host: those are not negative

// `describe` fills the job in and returns null, or why the host has to do it. Nothing is communicated before: an erroneous
// call is one rank's own affair.

/// A call with aliased buffers may be the root's alone. Others have made theirs, which need it no more than to open their lanes.
const char* refused(State& state, MPI_Comm comm, const char* reason) {
  state.taking_part = reason == aliased_buffers;
  if (state.taking_part) open_lanes(state, comm, false);
  return reason;
}

/// The host's code for what Team::run returned.
int code_of(int result) { return result == Lane::truncated ? MPI_ERR_TRUNCATE : result; }

/// Of a run in which the call takes part. Where parts were truncated, all messages have gone through.
void check_run(State& state, int result) {
  if (result == 0) [[likely]]
    return;
  state.taking_part = result != Lane::truncated;
  throw Failure{code_of(result)};
}

// A poke takes some dozens of nanoseconds.
constexpr std::uint32_t calls_between_pokes = 64;

/// After a blocking call. Programs with windows expect that what was sent before a barrier has arrived after it. And who makes
/// one quick call after the other, in which nobody waits for long, still has to let the host progress.
void settle(State& state, Operation operation) {
  if constexpr (simulated) return;
  if (counts::one_more(state.served, operation) % calls_between_pokes == 0 ||
      (operation == Operation::barrier && windows_made.load(std::memory_order_relaxed))) [[unlikely]]
    poke(nullptr);
}

/// Whether its buffers, if it has any, are asked about. A call that is checked is kept like such ones: no repeat() finds it.
template <class... Arguments>
bool asks(const Given<Arguments...>& given) {
  return checking() || (given.words > 1 && devices::any());
}

/// Runs a call that was made before with such arguments, if there is one that is ready. `asked`: if there are devices, its buffers have to
/// lie in the host's memory.
template <class... Arguments>
bool repeat_known(State& state, Operation operation, const Given<Arguments...>& given, bool asked) {
  const Repeats::Repeat* known = state.repeats.find(given, asked);
  if (!known || !Repeats::is_ready(*known)) return false;
  const Bases bases = known->bases(given.send, given.recv);
  if (asked)
    for (const std::byte* base : {bases.of[0], bases.of[1]})
      if (base && devices::driver_of(base)) return false;
  check_run(state, state.team->run_again(*known->prepared, bases, &known->op.reduction));
  settle(state, operation);
  return true;
}

/// Runs one whose result lies elsewhere before it is kept.
void run_and_keep_part(State& state, const Repeats::Repeat& known, void* recv) {
  Call call = known.call;
  std::byte* const all = state.staging[1].room(call.count * call.element);
  call.recv = all;
  check_run(state, state.team->run(known.prepared, call));
  if (known.kept_bytes > 0) std::memcpy(recv, all + known.kept_from, known.kept_bytes);
}

/// Serves a call by what is kept of calls with such arguments, whatever the counts. Nothing: there is no such thing; else
/// null, or why the host has to serve it.
template <class... Arguments>
std::optional<const char*> serve_known(State& state, MPI_Comm comm, Operation operation,
                                       const Given<Arguments...>& given, bool asked) {
  state.taking_part = true;
  const bool revived = state.repeats.revive(given, asked);
  const bool inherited = !state.formed && state.repeats.find(given, asked);
  if (inherited) open_lanes(state, comm, true);
  if ((asked || revived || inherited) && repeat_known(state, operation, given, asked)) return nullptr;
  const Range group = state.own_group();
  const Repeats::Repeat* const known = state.formed ? state.repeats.resize(given, group.count, state.rank - group.first,
                                                                           *state.team, checking() && !devices::any())
                                                    : nullptr;
  if (!known) return std::nullopt;
  if (known->prepared->choice.host) [[unlikely]]
    return known->prepared->why.c_str();
  if (known->keeps_part)
    run_and_keep_part(state, *known, given.recv);
  else
    check_run(state, state.team->run(known->prepared, known->call));
  settle(state, operation);
  return nullptr;
}

/// Serves a call like none before: described, prepared, run, and kept.
template <class... Arguments, class Describe>
const char* serve_first(State& state, MPI_Comm comm, Operation operation, const Given<Arguments...>& given, bool asked,
                        Describe describe) {
  const std::uint64_t forgotten = all_forgotten.load(std::memory_order_acquire);
  Job job(state.staging);
  if (const char* reason = describe(state, job)) return refused(state, comm, reason);
  state.taking_part = true;
  if (recording()) record::call(state, comm, operation, Form::blocking, job);
  if (process().threads) job.hold();
  if (reporting() && !state.formed) state.team->samples().come();
  open_lanes(state, comm, true);
  if (job.nothing) {
    counts::one_more(state.served, operation);
    state.team->samples().forget();
    return nullptr;
  }
  const std::shared_ptr<Prepared>& prepared = state.team->prepare(job.call, Form::blocking);
  const bool by_host = prepared->choice.host;
  if (checking()) check::ran(prepared->algorithm);
  if (!by_host) [[likely]] {
    job.load(prepared->in_rows);
    check_run(state, state.team->run(prepared, job.call));
    job.land(prepared->in_rows);
    settle(state, operation);
  }
  const bool each_counts = recording() || compares_results() || (by_host && reporting());
  const Range group = state.own_group();
  if (!each_counts) state.repeats.keep(given, group.count, state.rank - group.first, forgotten, asked, prepared, job);
  return by_host ? prepared->why.c_str() : nullptr;
}

/// Ends a call that has run at once, as it was like one before.
[[gnu::always_inline]] inline int finish_repeated(State& state, MPI_Comm comm, Operation operation, int result) {
  if (result != 0) [[unlikely]] {
    state.unclean = true;
    if (result != Lane::truncated) state.break_off();
    return raise(comm, code_of(result));
  }
  settle(state, operation);
  return MPI_SUCCESS;
}

/// As repeat(), where calls are checked: what others have to know of the call is kept, too. Not where messages need the host: while a rank waits
/// inside it, nobody looks again.
template <class... Arguments, class Describe>
int repeat_checked(Operation operation, const void* caller, On on, const Given<Arguments...>& given,
                   Describe describe) {
  const MPI_Comm comm = communicator(on);
  State* const state = known_state(on);
  if (!state || may_be_revoked.load(std::memory_order_relaxed) || state->messages || devices::any()) return unlike_any;
  const Repeats::Repeat* const known = state->repeats.find(given, true);
  if (!known || !Repeats::is_ready(*known)) return unlike_any;
  check::Kept* const kept = check::find_kept(*state, *known, given, describe);
  if (!kept) return unlike_any;
  check::Watched& watched = *static_cast<check::Watched*>(state->check.get());
  check::Again checked(watched, *kept, caller);
  int result;
  try {
    result = state->team->run_again(*known->prepared, known->bases(given.send, given.recv), &known->op.reduction);
  } catch (...) {
    watched.compare();
    state->break_off();
    return raise_current(comm);
  }
  result == 0 ? checked.ended() : watched.compare();
  return finish_repeated(*state, comm, operation, result);
}

template <class... Arguments, class Describe, class Pass>
int blocking(Operation operation, const void* caller, On on, const Given<Arguments...>& given, Describe describe,
             Pass pass) {
  if (checking()) [[unlikely]]
    if (const int code = repeat_checked(operation, caller, on, given, describe); code != unlike_any) return code;
  const auto serve = [&](State& state, MPI_Comm comm) -> const char* {
    const bool asked = asks(given);
    if (const auto known = serve_known(state, comm, operation, given, asked)) return *known;
    state.taking_part = false;
    return serve_first(state, comm, operation, given, asked, describe);
  };
  const auto size = [&] { return size_of(operation, given); };
  return dispatch({operation, Form::blocking, caller}, on, describe, serve, size, pass);
}

/// Serves a blocking call that was made before with such arguments, or such as differ in counts and displacements alone; returns `unlike_any` where there was none, and
/// `left_to_host` where that is to serve it. Inlined, so that arguments are compared where they are: in registers.
template <class... Arguments>
[[gnu::always_inline]] inline int repeat(Operation operation, On on, const Given<Arguments...>& given) {
  const MPI_Comm comm = communicator(on);
  State* const state = known_state(on);
  if (!state || may_be_revoked.load(std::memory_order_relaxed)) [[unlikely]]
    return unlike_any;
  if (state->repeats.left_to_host(operation)) [[unlikely]]
    return left_to_host;
  Repeats::Repeat* const known = state->repeats.find_but_for_counts(given);
  if (!known) return unlike_any;
  const bool same = Repeats::has_counts(*known, given);
  const bool ready = same && Repeats::is_ready(*known);
  if (!ready) [[unlikely]] {
    if (same && known->sizing == Repeats::of_host) return left_to_host;
    if (((given.arrays > 0 || known->has_single_parts) &&
         state->team->keeps_statistics()) ||  // which want all sizes described
        !Repeats::resize_at_once(*known, given, state->p, state->rank))
      return unlike_any;
  }
  int result;
  try {
    if (!ready) [[unlikely]]
      state->team->have_room(*known->prepared);
    result = state->team->run_again(*known->prepared, known->bases(given.send, given.recv), &known->op.reduction);
  } catch (...) {
    state->break_off();
    return raise_current(comm);
  }
  return finish_repeated(*state, comm, operation, result);
}

/// Why the operation, started now or later, might stop while a rank blocks inside the host; null: it would go on. Alike on all ranks.
const char* would_stop(const State& state, Operation operation, const Job& job) {
  const Reduction* const reduction = job.call.reduction;
  // Between groups, who has nothing to do in a reduce does not know by what others combine.
  const bool may_combine = state.first_group > 0 && operation == Operation::reduce;
  const bool calls_host = state.messages || may_combine || (reduction && reduction->context);
  const bool calls_program = may_combine || (reduction && job.op.is_programs);
  if (calls_program && state.unattended < Unattended::everything)
    return "this MPI has no hook by which the program's reductions would go on while a call of it blocks";
  if (calls_host && state.unattended < Unattended::host_calls)
    return "this MPI has no hook by which messages would go on while a call of it blocks";
  return nullptr;
}

/// Nonblocking and persistent: `begin` takes the described operation and makes its request.
template <class Describe, class Pass>
int requested(const Made& call, On on, Describe describe, Pass pass) {
  if constexpr (simulated)
    return pass_on(communicator(on), nullptr, call.operation, call.form,
                   "only blocking calls are served in a simulation", no_size, pass);
  const auto serve = [&](State& state, MPI_Comm comm) -> const char* {
    auto pending = std::make_unique<engine::Pending>(state.shared_from_this(), comm);
    if (const char* reason = describe(state, pending->job)) return refused(state, comm, reason);
    state.taking_part = true;
    if (const char* reason = would_stop(state, call.operation, pending->job)) return reason;
    if (recording()) record::call(state, comm, call.operation, call.form, pending->job);
    pending->operation = call.operation;
    pending->job.hold();
    pending->job.copy_small_contribution(state.p);
    open_lanes(state, comm, call.form == Form::persistent);
    MPI_Request& made = *call.request;
    if (call.form == Form::nonblocking) {
      engine::launch(std::move(pending), made);
    } else {
      engine::prepare(std::move(pending), made);
    }
    if (recording()) record::requested(made);
    return nullptr;
  };
  return dispatch(call, on, describe, serve, no_size, pass);
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

Parted parted(const void* buffer, Integers counts, Integers displacements, Wide type) {
  return {buffer, counts, displacements, narrow<MPI_Datatype>(type), nullptr};
}
Parted parted(const void* buffer, Integers counts, Integers displacements, const MPI_Datatype* types) {
  return {buffer, counts, displacements, {}, types};
}

}  // namespace

#define OMNES_BEFORE(...) __VA_ARGS__ __VA_OPT__(, )
#define OMNES_AFTER(...) __VA_OPT__(, ) __VA_ARGS__

// The three forms of one operation: its parameters before the communicator, the same as arguments, and what describes
// them as a job of `state`.
#define OMNES_FORMS(blocking_name, nonblocking_name, persistent_name, operation, parameters, arguments, description) \
  OMNES_ENTRY(blocking_name, OMNES_BEFORE parameters Wide comm) {                                                    \
    const On on{comm OMNES_MODULE};                                                                                  \
    if (const int code = repeat(Operation::operation, on, Given(Operation::operation OMNES_AFTER arguments));        \
        code >= 0) [[likely]]                                                                                        \
      return code;                                                                                                   \
    else if (code == left_to_host) {                                                                                 \
      counts::count(counts::passed, Operation::operation);                                                           \
      return call_host(OMNES_HOST(blocking_name), OMNES_BEFORE arguments comm);                                      \
    }                                                                                                                \
    const auto first = [](OMNES_BEFORE parameters On on, const void* caller) __attribute__((noinline)) {             \
      const Wide comm = handle(on);                                                                                  \
      return blocking(                                                                                               \
          Operation::operation, caller, on, Given(Operation::operation OMNES_AFTER arguments),                       \
          [&]([[maybe_unused]] State& state, auto& job) { return description; },                                     \
          [&] { return call_host(OMNES_HOST(blocking_name), OMNES_BEFORE arguments comm); });                        \
    };                                                                                                               \
    return first(OMNES_BEFORE arguments on, OMNES_CALLER);                                                           \
  }                                                                                                                  \
  OMNES_ENTRY(nonblocking_name, OMNES_BEFORE parameters Wide comm, void* request) {                                  \
    const On on{comm OMNES_MODULE};                                                                                  \
    return requested(                                                                                                \
        {Operation::operation, Form::nonblocking, OMNES_CALLER, static_cast<MPI_Request*>(request)}, on,             \
        [&]([[maybe_unused]] State& state, auto& job) { return description; },                                       \
        [&] { return call_host(OMNES_HOST(nonblocking_name), OMNES_BEFORE arguments comm, request); });              \
  }                                                                                                                  \
  OMNES_PERSISTENT_FORM(persistent_name, operation, parameters, arguments, description)

#ifdef OMNES_PERSISTENT
#define OMNES_PERSISTENT_FORM(persistent_name, operation, parameters, arguments, description)                \
  OMNES_ENTRY_PERSISTENT(persistent_name, OMNES_BEFORE parameters Wide comm, Wide info, void* request) {     \
    const On on{comm OMNES_MODULE};                                                                          \
    return requested(                                                                                        \
        {Operation::operation, Form::persistent, OMNES_CALLER, static_cast<MPI_Request*>(request)}, on,      \
        [&]([[maybe_unused]] State& state, auto& job) { return description; },                               \
        [&] { return call_host(OMNES_HOST(persistent_name), OMNES_BEFORE arguments comm, info, request); }); \
  }
#else
#define OMNES_PERSISTENT_FORM(persistent_name, operation, parameters, arguments, description)
#endif

OMNES_FORMS(Barrier, Ibarrier, Barrier_init, barrier, (), (), barrier(state, job))

#define OMNES_NAME(name) name
#define OMNES_COUNT int
#define OMNES_DISPLACEMENT int
#include "interpose/exports/collectives.inc"
#undef OMNES_NAME
#undef OMNES_COUNT
#undef OMNES_DISPLACEMENT

#ifdef OMNES_LARGE_COUNTS
#define OMNES_NAME(name) name##_c
#define OMNES_COUNT MPI_Count
#define OMNES_DISPLACEMENT MPI_Aint
#include "interpose/exports/collectives.inc"
#endif

}  // namespace omnes::interpose
