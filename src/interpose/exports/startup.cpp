// Sets the process up: lazily, because not every way to initialise MPI passes through our MPI_Init.
#include "interpose/exports/startup.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "interpose/check/check.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/communicator/report.hpp"
#include "interpose/communicator/spares.hpp"
#include "interpose/communicator/state.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/host/inside.hpp"
#include "interpose/process/notes.hpp"
#include "interpose/process/own_memory.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/unattended.hpp"
#include "interpose/process/world.hpp"
#include "interpose/progress/background.hpp"
#include "interpose/progress/engine.hpp"
#include "interpose/progress/failures.hpp"
#include "interpose/types/operators.hpp"
#include "interpose/types/types.hpp"
#include "topology/file.hpp"

namespace omnes::interpose {

namespace {

constexpr const char* switched_off = "OMNES_OFF";

std::mutex mutex;  // guards the set-up, in which nothing waits for other processes, and the complaint
std::string complaint;
std::atomic<bool> ready = false;  // MPI is initialised and not finalised, and all is set up

/// Of all that drives choices. A table and a machine count by what they say: their names may differ between nodes. So does
/// what is compiled in, and the compiler: nodes may have libraries of their own.
std::uint64_t fingerprint_of(const Settings& settings) {
  std::vector<std::string_view> variables;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    const bool names_file = name == "OMNES_STATS" || name == "OMNES_STATS_SITES" || name == "OMNES_RECORD" ||
                            name == "OMNES_NOTICES" || name == "OMNES_TABLE" || name == "OMNES_MACHINE";
    if (text.starts_with("OMNES_") && !names_file && is_setting(name)) variables.push_back(text);
  }
  std::sort(variables.begin(), variables.end());
  for (const auto* file : {&settings.table, &settings.machine})
    variables.push_back(*file ? std::string_view((*file)->text) : std::string_view());
  for (const std::string_view compiled_in : {default_table, model::default_machine, std::string_view(__VERSION__)})
    variables.push_back(compiled_in);
  std::uint64_t hash = 0;
  for (const std::string_view text : variables) hash = hash * 31 + std::hash<std::string_view>{}(text);
  return hash;
}

/// PMPI_Comm_create, unlike MPI_Comm_dup, does not run the program's attribute callbacks.
bool make_private_communicator(MPI_Comm& made) {
  MPI_Group group;
  if (host.Comm_group(handles.comm_self, &group) != MPI_SUCCESS) return false;
  const bool created = host.Comm_create(handles.comm_self, group, &made) == MPI_SUCCESS;
  host.Group_free(&group);
  return created && host.Comm_set_errhandler(made, handles.errors_return) == MPI_SUCCESS;
}

/// A wrong file that the user has named is an error; the site's own need not be understood.
std::optional<Network> find_network(const std::optional<std::string>& wanted) {
  const std::optional<std::string> file = network_file(wanted);
  if (!file) return std::nullopt;
  try {
    return read_network(*file);
  } catch (const std::invalid_argument& error) {
    if (wanted) throw std::invalid_argument(std::string("OMNES_TOPOLOGY: ") + error.what());
    note(std::string("switches are not known: ") + error.what());
    return std::nullopt;
  }
}

/// Likewise, the user's own is left out.
std::shared_ptr<const model::MachineCosts> find_machine(Settings& settings) {
  if (!settings.machine) return nullptr;
  try {
    return std::make_shared<const model::MachineCosts>(model::parse_machine(settings.machine->text));
  } catch (const std::invalid_argument& error) {
    const std::string what = settings.machine->name + ": " + error.what();
    if (settings.machine_is_named) throw std::invalid_argument("OMNES_MACHINE: " + what);
    note("the measured machine is not known: " + what);
    settings.machine.reset();
    return nullptr;
  }
}

/// Whether this process was started by MPI_Comm_spawn.
bool was_spawned() {
#ifdef OMNES_ABI_SMPI
  return false;
#else
  MPI_Comm parent;
  return host.Comm_get_parent(&parent) == MPI_SUCCESS && parent != handles.comm_null;
#endif
}

const char* set_up() {
  Process& p = process();
  try {
    p.settings = Settings::from_environment();
    p.selector.emplace(p.settings);
    p.network = find_network(p.settings.topology);
    p.machine = find_machine(p.settings);
  } catch (const std::invalid_argument& error) {
    complaint = one_line(error.what());
    return "wrong OMNES_ variable";
  }
  if (p.settings.heap == HeapUse::shared && !shared_heap_is_loaded()) {
    complaint =
        "OMNES_HEAP=shared: libomnes-heap.so is not loaded; start the program with omnes run, or name it in "
        "LD_PRELOAD, too";
    return "wrong OMNES_ variable";
  }
  if (component && (p.settings.check != Check::off || p.settings.record)) {
    complaint = std::string(p.settings.record ? "OMNES_RECORD" : "OMNES_CHECK") +
                ": not served by a component of Open MPI; preload libomnes-ompi.so, as omnes run does";
    return "wrong OMNES_ variable";
  }
  for (const std::string& line : p.settings.ignored) note(line);
  if (was_spawned()) {  // there are others of the same ranks, whose files these would be
    p.settings.stats.reset();
    p.settings.record.reset();
  }
  p.fingerprint = fingerprint_of(p.settings);
  if (host.Comm_rank(handles.comm_world, &p.rank) != MPI_SUCCESS ||
      host.Comm_size(handles.comm_world, &p.size) != MPI_SUCCESS)
    return "unknown ranks";
  int level = 0;
  p.threads = host.Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE;
  seldom.one_thread_forgets = !p.threads;
  p.idle = handles.request_null;
  if (p.settings.off) {
    if (p.settings.stats) prepare_report();  // what the host takes for its own
    return switched_off;
  }
  if (host.Comm_is_revoked && (!host.survives_failures || *host.survives_failures)) may_be_revoked = true;
  if (!make_private_communicator(p.self)) return "no private communicator";
  if (!simulated && host.Irecv(nullptr, 0, handles.byte, 0, 0, p.self, &p.idle) != MPI_SUCCESS)
    return "no private communicator";
  prepare_operators();
  if (prepare_types(p.fingerprint) != MPI_SUCCESS || prepare_states() != MPI_SUCCESS || prepare_report() != MPI_SUCCESS)
    return "no attributes";
  if (p.settings.record) record::begin();
  return nullptr;
}

/// Also MPI_Finalize is called by all: what some have called before it and others have not, comes to light now.
void check_end(const void* caller) {
  if (!checking()) return;
  try {
    if (State* const state = find_state(handles.comm_world, Form::blocking).state)
      check::joined(check::Function::Finalize, *state, handles.comm_world, caller,
                    failures::code_for(*state, handles.comm_world) != 0);
  } catch (const Failure&) {  // the host will say what is wrong
  } catch (const std::bad_alloc&) {
  }
  check::end();
}

}  // namespace

int initialised() try {
  const bool serves = prepare_process() == nullptr;
  if (const std::string complaint = take_complaint(); !complaint.empty()) return raise(handles.comm_world, complaint);
  const int met = meet();  // also with OMNES_OFF, which other ranks may not have
  if (met == MPI_SUCCESS && serves && process().settings.check != Check::off) check::begin();
  begin_report();
  if (met != MPI_SUCCESS || !serves || simulated) return met;
  if (component) hook_into_host();
  if (engine::waiting().oversubscribed) let_others_run();
  return met;
} catch (...) {
  return raise_current(handles.comm_world);
}

void begin_end(const void* caller) {
  if (!world()) return;
  check_end(caller);
  try {
    engine::drain();
    spares::free_all();
    free_worlds();
  } catch (const std::bad_alloc&) {  // the host ends all the same
  }
}

void finalised() {
  ready = false;
  forget_states();
}

const char* prepare_process() {
  if (ready.load(std::memory_order_acquire)) return nullptr;
  int flag = 0;
  if (host.Initialized(&flag) != MPI_SUCCESS || !flag) return "before MPI_Init";
  if (host.Finalized(&flag) != MPI_SUCCESS || flag) return "after MPI_Finalize";
  const std::lock_guard lock(mutex);
  static const char* const reason = [] {
    const char* why = nullptr;
    try {
      why = set_up();
    } catch (const std::bad_alloc&) {
      why = "no memory to set up";
    }
    if (why)
      process().fingerprint = ~process().fingerprint;  // whatever this rank leaves to the host, the others do, too
    return why;
  }();
  ready.store(!reason, std::memory_order_release);
  return reason;
}

std::string take_complaint() {
  const std::lock_guard lock(mutex);
  return std::exchange(complaint, {});
}

Found find_state(MPI_Comm comm, Form form) {
  if (called_by_host()) return {nullptr, called_by_host_itself};
  if (process().settings.off && !finalizing()) return {nullptr, switched_off};
  if (find_host() != built_for) return {nullptr, "MPI of another family"};
  if (const char* reason = prepare_process()) return {nullptr, reason};
  if (!world()) return {nullptr, "MPI_Init did not pass through omnes"};
  return state_of(comm, form);
}

}  // namespace omnes::interpose
