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

/// What differs from operation to operation: what its arguments come to, as a job and as the other ranks have to know it, and its
/// function of the host. All else is compiled once for all: what calls of many kinds share stays in the caches.
class Arguments {
 public:
  /// Null, or why the host has to do it. Nothing is communicated before: an erroneous call is one rank's own affair.
  virtual const char* describe(State& state, Job& job) const = 0;
  virtual void describe(State& state, check::Call& call) const = 0;
  virtual int call_host() const = 0;

 protected:
  ~Arguments() = default;
};
template <class Describe, class Pass>
class ArgumentsOf final : public Arguments {
 public:
  ArgumentsOf(Describe describe, Pass pass) : describe_(describe), pass_(pass) {}
  const char* describe(State& state, Job& job) const override { return describe_(state, job); }
  void describe(State& state, check::Call& call) const override { describe_(state, call); }
  int call_host() const override { return pass_(); }

 private:
  Describe describe_;
  Pass pass_;
};

/// What a call is: in which form, where from, and where its request goes, if it gets one.
struct Made {
  Operation operation;
  Form form;
  const void* caller;
  const Arguments& arguments;
  const AnyGiven* given = nullptr;  ///< of a blocking call
  MPI_Request* request = nullptr;
};

/// What statistics say of a call that goes to the host.
struct Size {
  std::size_t bytes = 0;  ///< of a part
  int root = 0;
};

std::size_t bytes_of(std::uint64_t count, std::uint64_t type) {
  const auto handle = narrow<MPI_Datatype>(static_cast<Wide>(type));
  MPI_Count size = 0;
  if (count == 0 || static_cast<std::int64_t>(count) < 0 || handle == handles.type_null) return 0;
  return host.Type_size_x(handle, &size) == MPI_SUCCESS && size > 0 ? count * static_cast<std::size_t>(size) : 0;
}

/// Of equal parts, by what is given on this rank; of unequal ones nobody knows all.
Size size_of(Operation operation, const AnyGiven& given) {
  const auto& word = given.word;
  const int root = rooted(operation) ? static_cast<int>(word.back()) : 0;
  if (given.arrays > 0 || given.words < 4) return {0, root};
  const bool exchanges = !reduces(operation) && operation != Operation::bcast;  // two counts, and two types
  const bool by_received = operation == Operation::scatter  ? given.recv != MPI_IN_PLACE
                           : operation == Operation::gather ? given.send == MPI_IN_PLACE
                                                            : true;
  return {exchanges && by_received ? bytes_of(word[3], word[4]) : bytes_of(word[1], word[2]), root};
}

/// Has the host do it, and counts that.
int pass_on(const Made& made, MPI_Comm comm, State* state, const char* reason) {
  if (reason != called_by_host_itself) {
    counts::count(counts::passed, made.operation);
    if (recording()) record::left_out(made.operation, made.form, reason);
  }
  if (!reporting()) return made.arguments.call_host();
  const auto [bytes, root] = made.given ? size_of(made.operation, *made.given) : Size{};
  PassedCall call(comm, state, made.operation, made.form, reason, root, bytes);
  const int code = made.arguments.call_host();
  call.end(code);
  return code;
}

/// Hosts run some calls with negative counts: for those a rank would wait, or write before its buffers.
bool host_looks_at_counts(Operation operation) {
  if constexpr (built_for == Family::ompi)
    return operation != Operation::allgatherv && operation != Operation::neighbor_allgatherv;
  return operation != Operation::reduce_scatter_block;
}

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

/// Serves a call with the communicator's state, and returns null, or why the host has to do it. `checked`: null where calls are not.
using Serve = const char*(const Made& made, State& state, MPI_Comm comm, check::Entry* checked);

int dispatch(const Made& made, On on, Serve& serve) {
  const Operation operation = made.operation;
  const Form form = made.form;
  // MPI_Init is not over, or it is one of ours; or nothing calls the engine any more where the program waits for it.
  if (component && (!world() || called_by_host() || (form != Form::blocking && engine::is_drained())))
    return made.arguments.call_host();
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
      const bool ends = failures::code_for(*state, comm) != 0;
      if (checking()) [[unlikely]] {
        checked.emplace(*state, comm, check::number_of(operation, form), form, made.caller);
        made.arguments.describe(*state, checked->call);
        checked->post(ends);
      }
      reason =
          ends ? "revoked communicator, or one with ranks that have failed" : too_new(*state, comm, operation, form);
      if (!reason) {
        const failures::Watch watch(*state, comm);
        state->taking_part = false;
        // Perhaps by a nonblocking operation: then what is known runs no more either.
        if (const int code = state->broken) [[unlikely]] {
          state->break_off();
          throw Failure{code};
        }
        reason = serve(made, *state, comm, checked ? &*checked : nullptr);
      }
      if (!reason) [[likely]] {
        if (checked) checked->served(made.request);
        return MPI_SUCCESS;
      }
    }
  } catch (...) {
    if (checked) checked->failed(failures::code_for(*state, comm) != 0);
    if (state) state->unclean = true;
    if (state && state->taking_part) state->break_off();
    return raise_current(comm);
  }
  if (const std::string complaint = take_complaint(); !complaint.empty()) return raise(comm, complaint);
  if (reason == negative_count && !host_looks_at_counts(operation)) return raise(comm, MPI_ERR_COUNT);
  const int code = pass_on(made, comm, state, reason);
  if (code != MPI_SUCCESS && checked) checked->failed(failures::code_for(*state, comm) != 0);
  return code;
}

constexpr int unlike_any = -1, left_to_host = -2;  // no codes of a host: those are not negative

/// A call with aliased buffers may be the root's alone. Others have made theirs, which need it no more than to open their lanes, and for
/// what the host makes, too.
const char* refused(State& state, MPI_Comm comm, check::Entry* checked, const char* reason) {
  state.taking_part = reason == aliased_buffers;
  if (!state.taking_part) return reason;
  if (checked) checked->accepted();
  open_lanes(state, comm, state.first_group > 0);
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
bool asks(const AnyGiven& given) { return checking() || (given.words > 1 && devices::any()); }

/// Runs a call that was made before with such arguments, if that is the one kept and is ready. `asked`: if there are devices, its buffers have to
/// lie in the host's memory.
bool repeat_known(State& state, const Repeats::Repeat& known, const AnyGiven& given, bool asked) {
  if (!Repeats::is_same(known, given, asked) || !Repeats::is_ready(known)) return false;
  const Bases bases = known.bases(given.send, given.recv);
  if (asked)
    for (const std::byte* base : {bases.of[0], bases.of[1]})
      if (base && devices::driver_of(base)) return false;
  check_run(state, state.team->run_again(*known.prepared, bases, &known.op.reduction));
  settle(state, given.operation());
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

/// Serves a call whose data have gaps, if the one before with such arguments was the same. Returns whether it has.
bool serve_packed(const Made& made, State& state, const Repeats::Repeat& known) {
  const AnyGiven& given = *made.given;
  if (!Repeats::is_same(known, given)) return false;
  std::shared_ptr<KeptJob>& kept = state.repeats.job_of(known);
  if (!kept) {
    auto fresh = std::make_shared<KeptJob>(state.staging);
    state.taking_part = false;
    if (made.arguments.describe(state, fresh->job) || !fresh->job.only_packs()) return false;
    state.taking_part = true;
    fresh->send = given.send;
    fresh->recv = given.recv;
    kept = std::move(fresh);
  } else if (!kept->move_to(given.send, given.recv)) {
    return false;
  }
  const std::shared_ptr<KeptJob> used = kept;  // what moves meanwhile may fail, and all is forgotten
  auto& [job, prepared, sizing, send, recv] = *used;
  if (!prepared || sizing != prepared->plan.sizing) {
    prepared = state.team->prepare(job.call, Form::blocking);
    sizing = prepared->plan.sizing;
    if (prepared->choice.host || prepared->needs_all_counts) {
      kept.reset();
      return false;
    }
  }
  job.load(*prepared);
  check_run(state, state.team->run(prepared, job.call));
  job.land(*prepared);
  settle(state, given.operation());
  return true;
}

/// Serves a call by what is kept of calls with such arguments, whatever the counts. Nothing: there is no such thing; else
/// null, or why the host has to serve it.
std::optional<const char*> serve_known(const Made& made, State& state, MPI_Comm comm, bool asked) {
  const AnyGiven& given = *made.given;
  Repeats::Repeat* const found = state.repeats.find(given);
  if (!found) return std::nullopt;
  Repeats::Repeat& known = *found;
  const bool revived = Repeats::revive(known, given, asked);
  state.taking_part = true;
  const bool inherited = !state.formed && Repeats::is_same(known, given, asked);
  if (inherited) open_lanes(state, comm, true);
  if ((asked || revived || inherited) && repeat_known(state, known, given, asked)) return nullptr;
  if (known.packs && state.formed && !asked && serve_packed(made, state, known)) return nullptr;
  const Range group = state.own_group();
  if (!state.formed || !state.repeats.resize(known, given, group.count, state.rank - group.first, *state.team,
                                             checking() && !devices::any()))
    return std::nullopt;
  if (known.prepared->choice.host) [[unlikely]]
    return known.prepared->why.c_str();
  if (known.keeps_part)
    run_and_keep_part(state, known, given.recv);
  else
    check_run(state, state.team->run(known.prepared, known.call));
  settle(state, given.operation());
  return nullptr;
}

/// Serves a call like none before: described, prepared, run, and kept.
const char* serve_first(const Made& made, State& state, MPI_Comm comm, check::Entry* checked, bool asked) {
  const Operation operation = made.operation;
  const std::uint64_t forgotten = all_forgotten.load(std::memory_order_acquire);
  Job job(state.staging);
  if (const char* reason = made.arguments.describe(state, job)) return refused(state, comm, checked, reason);
  state.taking_part = true;
  if (checked) checked->accepted();
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
    job.load(*prepared);
    check_run(state, state.team->run(prepared, job.call));
    job.land(*prepared);
    settle(state, operation);
  }
  const bool each_counts = recording() || compares_results() || (by_host && reporting());
  const Range group = state.own_group();
  if (!each_counts)
    state.repeats.keep(*made.given, group.count, state.rank - group.first, forgotten, asked, prepared, job);
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
int repeat_checked(const Made& made, On on) {
  const AnyGiven& given = *made.given;
  const MPI_Comm comm = communicator(on);
  State* const state = known_state(on);
  if (!state || may_be_revoked.load(std::memory_order_relaxed) || state->messages || devices::any()) return unlike_any;
  const Repeats::Repeat* const found = state->repeats.find(given);
  if (!found || !Repeats::is_same(*found, given, true) || !Repeats::is_ready(*found)) return unlike_any;
  const Repeats::Repeat& known = *found;
  check::Kept* const kept =
      check::find_kept(*state, known, given, [&](check::Call& call) { made.arguments.describe(*state, call); });
  if (!kept) return unlike_any;
  check::Watched& watched = *static_cast<check::Watched*>(state->check.get());
  check::Again checked(watched, *kept, made.caller);
  int result;
  try {
    result = state->team->run_again(*known.prepared, known.bases(given.send, given.recv), &known.op.reduction);
  } catch (...) {
    watched.compare();
    state->break_off();
    return raise_current(comm);
  }
  result == 0 ? checked.ended() : watched.compare();
  return finish_repeated(*state, comm, made.operation, result);
}

const char* serve_blocking(const Made& made, State& state, MPI_Comm comm, check::Entry* checked) {
  const bool asked = asks(*made.given);
  if (const auto known = serve_known(made, state, comm, asked)) return *known;
  state.taking_part = false;
  return serve_first(made, state, comm, checked, asked);
}

int blocking(const Made& made, On on) {
  if (checking()) [[unlikely]]
    if (const int code = repeat_checked(made, on); code != unlike_any) return code;
  return dispatch(made, on, serve_blocking);
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
  Repeats::Repeat* const found = state->repeats.find(given);
  if (!found || !found->is_valid()) return unlike_any;
  Repeats::Repeat& known = *found;
  const bool same = Repeats::has_counts(known, given);
  const bool ready = same && Repeats::is_ready(known);
  if (!ready) [[unlikely]] {
    if (same && known.sizing == Repeats::of_host) return left_to_host;
    if (((given.arrays > 0 || known.has_single_parts) &&
         state->team->keeps_statistics()) ||  // which want all sizes described
        !Repeats::resize_at_once(known, given, state->p, state->rank))
      return unlike_any;
  }
  int result;
  try {
    if (!ready) [[unlikely]]
      state->team->have_room(*known.prepared);
    result = state->team->run_again(*known.prepared, known.bases(given.send, given.recv), &known.op.reduction);
  } catch (...) {
    state->break_off();
    return raise_current(comm);
  }
  return finish_repeated(*state, comm, operation, result);
}

/// Why the operation, started now or later, might stop while a rank blocks inside the host; null: it would go on. Alike on all ranks.
const char* would_stop(const State& state, Operation operation, Form form, const Job& job) {
  const Reduction* const reduction = job.call.reduction;
  // Between groups, who has nothing to do in a reduce does not know by what others combine.
  const bool may_combine = state.first_group > 0 && operation == Operation::reduce;
  const bool calls_host = state.messages || may_combine || (reduction && reduction->context);
  const bool calls_program = may_combine || (reduction && job.op.is_programs);
  if (calls_program && state.unattended < Unattended::everything)
    return "this MPI has no hook by which the program's reductions would go on while a call of it blocks";
  if (calls_host && state.unattended < Unattended::host_calls)
    return "this MPI has no hook by which messages would go on while a call of it blocks";
  if (form == Form::nonblocking && forms_by_host(state) && state.unattended < Unattended::host_calls)
    return "this MPI has no hook by which ranks would find each other while a call of it blocks";
  return nullptr;
}

/// Why the call cannot open the lanes; null: it can, or they are open. Alike on all ranks. Between groups the host takes two collectives for it, and the second one begins
/// when the first has ended: by calls that do not wait at another moment on each rank, before or after collectives that the program leaves to the host.
const char* cannot_open(const State& state, Form form) {
  if (form != Form::nonblocking || state.first_group == 0 || state.formed || !forms_by_host(state)) return nullptr;
  return "no blocking or persistent operation between these groups before it";
}

const char* serve_requested(const Made& made, State& state, MPI_Comm comm, check::Entry* checked) {
  if (const char* reason = cannot_open(state, made.form)) return reason;
  auto pending = std::make_unique<engine::Pending>(state.shared_from_this(), comm);
  if (const char* reason = made.arguments.describe(state, pending->job)) return refused(state, comm, checked, reason);
  state.taking_part = true;
  if (const char* reason = would_stop(state, made.operation, made.form, pending->job)) return reason;
  if (checked) checked->accepted();
  if (recording()) record::call(state, comm, made.operation, made.form, pending->job);
  pending->operation = made.operation;
  pending->job.hold();
  pending->job.copy_small_contribution(state.p);
  open_lanes(state, comm, made.form == Form::persistent);
  if (made.form == Form::nonblocking) {
    engine::launch(std::move(pending), *made.request);
  } else {
    engine::prepare(std::move(pending), *made.request);
  }
  if (recording()) record::requested(*made.request);
  return nullptr;
}

/// Nonblocking and persistent.
int requested(const Made& made, On on) {
  if constexpr (simulated)
    return pass_on(made, communicator(on), nullptr, "only blocking calls are served in a simulation");
  if (!made.request) return pass_on(made, communicator(on), nullptr, "null request");
  return dispatch(made, on, serve_requested);
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

#define OMNES_DESCRIBED(description) [&]([[maybe_unused]] State& state, auto& job) { return description; }
#define OMNES_PASSED(name, ...) [&] { return call_host(OMNES_HOST(name), __VA_ARGS__); }

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
      [[maybe_unused]] const Wide comm = handle(on);                                                                 \
      const Given given(Operation::operation OMNES_AFTER arguments);                                                 \
      const AnyGiven any(given);                                                                                     \
      const ArgumentsOf of(OMNES_DESCRIBED(description), OMNES_PASSED(blocking_name, OMNES_BEFORE arguments comm));  \
      return blocking({Operation::operation, Form::blocking, caller, of, &any}, on);                                 \
    };                                                                                                               \
    return first(OMNES_BEFORE arguments on, OMNES_CALLER);                                                           \
  }                                                                                                                  \
  OMNES_ENTRY(nonblocking_name, OMNES_BEFORE parameters Wide comm, void* request) {                                  \
    const On on{comm OMNES_MODULE};                                                                                  \
    const ArgumentsOf of(OMNES_DESCRIBED(description),                                                               \
                         OMNES_PASSED(nonblocking_name, OMNES_BEFORE arguments comm, request));                      \
    const auto made = static_cast<MPI_Request*>(request);                                                            \
    return requested({Operation::operation, Form::nonblocking, OMNES_CALLER, of, nullptr, made}, on);                \
  }                                                                                                                  \
  OMNES_PERSISTENT_FORM(persistent_name, operation, parameters, arguments, description)

#ifdef OMNES_PERSISTENT
#define OMNES_PERSISTENT_FORM(persistent_name, operation, parameters, arguments, description)            \
  OMNES_ENTRY_PERSISTENT(persistent_name, OMNES_BEFORE parameters Wide comm, Wide info, void* request) { \
    const On on{comm OMNES_MODULE};                                                                      \
    const ArgumentsOf of(OMNES_DESCRIBED(description),                                                   \
                         OMNES_PASSED(persistent_name, OMNES_BEFORE arguments comm, info, request));     \
    const auto made = static_cast<MPI_Request*>(request);                                                \
    return requested({Operation::operation, Form::persistent, OMNES_CALLER, of, nullptr, made}, on);     \
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
