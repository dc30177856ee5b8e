// MPI's interface for tools (MPI_T): control and performance variables of omnes behind those of the host.
//
// Indices of ours follow those that the host had when it was first asked; what it adds later follows ours, so that no index ever changes
// its meaning. Handles are addresses: ours are those that we have made. Sessions are the host's.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/communicator/report.hpp"
#include "interpose/communicator/spares.hpp"
#include "interpose/communicator/state.hpp"
#include "interpose/exports/startup.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/own_memory.hpp"
#include "select/settings.hpp"
#include "transport/shm/segment.hpp"

namespace omnes::interpose {

namespace {

// ---- The variables ------------------------------------------------------------------------------------------------------

constexpr const char* category_name = "omnes";
constexpr const char* category_about = "omnes: collective operations in front of this MPI";
constexpr int longest_choice = 1024;  // characters, with the null: what MPICH lets an info value have

struct Control {
  enum Kind { forced, chosen, complaint, setting } kind;
  std::string name, about;
  Operation operation{};
  bool of_communicator() const { return kind == forced || kind == chosen; }
};

struct Performance {
  std::string name, about;
  bool counts;  ///< from when it is started; else what there is now
  std::uint64_t (*value)(Operation operation);
  Operation operation{};
};

std::uint64_t heap_bytes(Operation) {
  const shm::Heap* const heap = own_heap_if_made();
  return heap ? heap->used_bytes() : 0;
}
shm::AdoptionTally tally() {
  const shm::Adoption* const adoption = adoption_if_made();
  return adoption ? adoption->tally() : shm::AdoptionTally();
}

template <class Add>
void for_each_operation(Add add) {
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    add(operation, std::string(name(operation)));
  }
}

std::vector<Control> all_controls() {
  std::vector<Control> all;
  for_each_operation([&](Operation operation, const std::string& name) {
    all.push_back({Control::forced, "omnes_" + name,
                   "Algorithm of " + name + " on this communicator, as " + variable_of(operation) +
                       " takes it; empty: not forced",
                   operation});
  });
  for_each_operation([&](Operation operation, const std::string& name) {
    all.push_back({Control::chosen, "omnes_" + name + "_chosen",
                   "What has been chosen for " + name + " on this communicator; of several by bytes of a part",
                   operation});
  });
  all.push_back(
      {Control::complaint, "omnes_error", "What was wrong with the last value written to a variable of omnes"});
  for (const Setting& setting : all_settings()) all.push_back({Control::setting, setting.variable, setting.about});
  return all;
}

std::vector<Performance> all_performances() {
  std::vector<Performance> all;
  for_each_operation([&](Operation operation, const std::string& name) {
    all.push_back({"omnes_" + name + "_served", "Calls of " + name + " that omnes has served, in all forms", true,
                   counts::served, operation});
  });
  for_each_operation([&](Operation operation, const std::string& name) {
    all.push_back({"omnes_" + name + "_passed", "Calls of " + name + " that were left to the MPI, in all forms", true,
                   [](Operation of) { return counts::passed[static_cast<int>(of)].load(); }, operation});
  });
  all.push_back({"omnes_communicators", "Communicators on which omnes is ready to serve", false,
                 [](Operation) { return counts::communicators(); }});
  all.push_back({"omnes_segment_bytes", "Bytes of the queues that this process shares with others, as address space",
                 false, [](Operation) { return shm::Segment::bytes_of_all(); }});
  all.push_back({"omnes_heap_bytes", "Bytes in use of this process's memory that other ranks map", false, heap_bytes});
  all.push_back({"omnes_adopted_buffers", "Buffers of the program that were moved into such memory", true,
                 [](Operation) { return tally().buffers; }});
  all.push_back({"omnes_adopted_bytes", "Bytes of these buffers", true, [](Operation) { return tally().bytes; }});
  all.push_back(
      {"omnes_adopted_uses", "Calls that found their buffers there", true, [](Operation) { return tally().uses; }});
  return all;
}

const std::vector<Control>& controls() {
  static const auto& all = *new std::vector(all_controls());
  return all;
}
const std::vector<Performance>& performances() {
  static const auto& all = *new std::vector(all_performances());
  return all;
}

// ---- Where they stand, and their handles --------------------------------------------------------------------------------

/// Of one kind of thing, as tools see them.
class Indices {
 public:
  Indices(int (*Host::*count)(int*), int ours) : count_(count), ours_(ours) {}

  /// How many there are. Before any other question. Returns the host's code.
  int look(int& all) {
    const int code = (host.*count_)(&all);
    if (code != MPI_SUCCESS) return code;
    int unknown = -1;
    first_.compare_exchange_strong(unknown, all);
    all += ours_;
    return MPI_SUCCESS;
  }
  int first() const { return first_; }
  int ours() const { return ours_; }
  /// The number of the thing among ours; -1: it is the host's.
  int own(int index) const { return index >= first_ && index - first_ < ours_ ? index - first_ : -1; }
  int to_host(int index) const { return index < first_ ? index : index - ours_; }
  int from_host(int index) const { return index < first_ ? index : index + ours_; }

 private:
  int (*Host::*count_)(int*);
  const int ours_;
  std::atomic<int> first_{-1};
};

struct Controlling {
  const Control* control;
  std::weak_ptr<State> state;
  bool has_state;  ///< omnes serves the communicator, or did
};

struct Performing {
  const Performance* performance;
  Wide session;
  bool running = false;
  std::uint64_t sum = 0, before = 0;  ///< counted until it was started last; what stood there then

  std::uint64_t now() const { return performance->value(performance->operation); }
  /// Of one that counts, when `now` stands there.
  std::uint64_t counted(std::uint64_t now) const { return sum + (running ? now - before : 0); }
  std::uint64_t value() const { return performance->counts ? counted(now()) : now(); }
  void set(std::uint64_t value) {
    sum = value;
    before = now();
  }
};

template <class Handle>
using Handles = std::map<Wide, std::unique_ptr<Handle>>;  // by their addresses

struct Tools {
  Indices control{&Host::T_cvar_get_num, static_cast<int>(controls().size())};
  Indices performance{&Host::T_pvar_get_num, static_cast<int>(performances().size())};
  Indices category{&Host::T_category_get_num, 1};
  std::mutex mutex;  ///< guards what follows
  Handles<Controlling> controlling;
  Handles<Performing> performing;
  std::map<Wide, int> sessions;  ///< with how many handles of the host
  std::string complaint;

  void count_handle(Wide session, int more) {
    const std::lock_guard lock(mutex);
    if (const auto found = sessions.find(session); found != sessions.end()) found->second += more;
  }
  Controlling* controlling_at(Wide handle) {
    const auto found = controlling.find(handle);
    return found == controlling.end() ? nullptr : found->second.get();
  }
};

Tools& tools() {
  static auto& the = *new Tools;
  return the;
}

template <class Handle>
Wide keep(Handles<Handle>& handles, Handle handle) {
  auto made = std::make_unique<Handle>(std::move(handle));
  const Wide address = reinterpret_cast<Wide>(made.get());
  handles.emplace(address, std::move(made));
  return address;
}

/// Whether there are variables of ours.
bool shown() {
  static const bool yes = [] {
    const char* const off = std::getenv("OMNES_OFF");
    return find_host() == built_for && host.T_cvar_get_num && host.T_pvar_get_num && host.T_category_get_num &&
           !(off && std::string_view(off) == "1");
  }();
  return yes;
}

Wide all_handles() {
#ifdef OMNES_ABI_MPICH  // a variable of the library
  static const auto* const all = static_cast<const Wide*>(host_data("MPI_T_PVAR_ALL_HANDLES"));
  return all ? *all : -1;
#else
  return reinterpret_cast<Wide>(MPI_T_PVAR_ALL_HANDLES);
#endif
}

/// What may take memory.
template <class Do>
int guarded(Do act) try {
  return act();
} catch (const std::bad_alloc&) {
  return MPI_T_ERR_MEMORY;
}

// ---- Arguments ----------------------------------------------------------------------------------------------------------

template <class Value>
void give(Value* to, Value value) {
  if (to) *to = value;
}
/// As MPI returns strings.
void give(char* to, int* length, std::string_view text) {
  if (!length) return;
  if (to && *length > 0) {
    const auto fits = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
    std::memcpy(to, text.data(), fits);
    to[fits] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

/// Asks the host with its own index in place of `index`, or gives that of ours to `own`.
template <class Function, class Own, class... Arguments>
int by_index(Indices Tools::* which, Function Host::* of_host, int index, Own own, Arguments... arguments) {
  if (!shown()) return call_host(host.*of_host, index, arguments...);
  return guarded([&]() -> int {
    Indices& indices = tools().*which;
    int all = 0;
    if (const int code = indices.look(all); code != MPI_SUCCESS) return code;
    if (index < 0 || index >= all) return MPI_T_ERR_INVALID_INDEX;
    const int ours = indices.own(index);
    return ours >= 0 ? own(ours) : call_host(host.*of_host, indices.to_host(index), arguments...);
  });
}

/// The index of the one of that name: of ours, those for which `is_it`, or what the host says.
template <class All, class Is, class Ask>
int find_index(Indices Tools::* which, const All& all, int* index, Is is_it, Ask ask_host) {
  Indices& indices = tools().*which;
  int count = 0;
  if (const int code = indices.look(count); code != MPI_SUCCESS) return code;
  if (!index) return MPI_T_ERR_INVALID;
  if (const auto found = std::ranges::find_if(all, is_it); found != all.end()) {
    *index = indices.first() + static_cast<int>(found - all.begin());
    return MPI_SUCCESS;
  }
  const int code = ask_host();
  if (code == MPI_SUCCESS) *index = indices.from_host(*index);
  return code;
}

int count_all(Indices Tools::* which, int (*Host::*of_host)(int*), int* count) {
  if (!shown() || !count) return call_host(host.*of_host, count);
  return guarded([&]() -> int { return (tools().*which).look(*count); });
}

// ---- Control ------------------------------------------------------------------------------------------------------------

int bind(const Control& control, const MPI_Comm* comm, Controlling& made) {
  made.control = &control;
  made.has_state = false;
  if (!control.of_communicator()) return MPI_SUCCESS;
  if (!comm || *comm == handles.comm_null || prepare_process()) return MPI_T_ERR_INVALID;
  try {
    spares::changed(*comm);  // one that is made anew has no such handle
    if (State* const state = find_state(*comm, Form::persistent).state) {
      made.state = state->weak_from_this();
      made.has_state = true;
    }
  } catch (const Failure&) {
    return MPI_T_ERR_INVALID;
  }
  return MPI_SUCCESS;
}

/// With the mutex. Null: it is gone, with its communicator.
std::shared_ptr<State> state_of(const Controlling& of) {
  std::shared_ptr<State> state = of.state.lock();
  return state && state->detached ? nullptr : state;
}

std::string text_of(const Control& control, const State* state) {
  switch (control.kind) {
    case Control::forced: return state ? state->team->forced(control.operation) : "";
    case Control::chosen: return state ? state->team->chosen(control.operation) : "";
    case Control::complaint: return tools().complaint;
    case Control::setting: break;
  }
  const char* const value = std::getenv(control.name.c_str());
  return value ? value : "";
}

/// Room for all that may stand there.
int length_of(const Control& control) {
  if (control.kind != Control::setting) return longest_choice;
  return static_cast<int>(text_of(control, nullptr).size()) + 1;
}

/// With the mutex.
int write(const Controlling& to, std::string_view text) {
  const Control& control = *to.control;
  if (control.kind != Control::forced) return MPI_T_ERR_CVAR_SET_NEVER;
  std::optional<Choice> wish;
  try {
    if (!text.empty()) wish = parse_wish(control.operation, text);
  } catch (const std::invalid_argument& error) {
    tools().complaint = control.name + ": " + error.what();
    return MPI_T_ERR_INVALID;
  }
  if (!to.has_state) return MPI_T_ERR_CVAR_SET_NEVER;  // the host serves this communicator
  const std::shared_ptr<State> state = state_of(to);
  if (!state) return MPI_T_ERR_INVALID_HANDLE;
  state->force(control.operation, wish);
  return MPI_SUCCESS;
}

// ---- Performance --------------------------------------------------------------------------------------------------------

/// Does it with a handle of ours, with the mutex. Nothing: it is the host's.
template <class Act>
std::optional<int> with_own(Wide session, Wide handle, Act act) {
  Tools& t = tools();
  const std::lock_guard lock(t.mutex);
  const auto found = t.performing.find(handle);
  if (found == t.performing.end()) return std::nullopt;
  if (found->second->session != session)
    return t.sessions.contains(session) ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_INVALID_SESSION;
  return act(*found->second);
}

/// The same, or has the host do it.
template <class Function, class Act, class... More>
int with_handle(Function Host::* of_host, Wide session, Wide handle, Act act, More... more) {
  if (shown())
    if (const std::optional<int> code = with_own(session, handle, act)) return *code;
  return call_host(host.*of_host, session, handle, more...);
}

/// The same, where the handle may stand for all of the session.
template <class Function, class Act>
int with_handles(Function Host::* of_host, Wide session, Wide handle, Act act) {
  if (!shown() || handle != all_handles()) return with_handle(of_host, session, handle, act);
  std::unique_lock lock(tools().mutex);
  const auto found = tools().sessions.find(session);
  const bool only_ours = found != tools().sessions.end() && found->second == 0;
  lock.unlock();
  // MPICH 5 does not know what stands for all in the standard ABI.
  const int code = only_ours ? MPI_SUCCESS : call_host(host.*of_host, session, handle);
  if (code != MPI_SUCCESS) return code;
  lock.lock();
  for (const auto& [address, of] : tools().performing)
    if (of->session == session) act(*of);  // those that cannot are passed over
  return MPI_SUCCESS;
}

// ---- Categories ---------------------------------------------------------------------------------------------------------

/// The indices of what is in a category: `place` is that of their number among what T_category_get_info tells.
template <class Function>
int list(Indices Tools::* which, Function Host::* of_host, int place, int index, int length, int* indices) {
  if (!shown() || !indices) return call_host(host.*of_host, index, length, indices);
  return guarded([&]() -> int {
    Tools& t = tools();
    Indices& listed = t.*which;
    int all = 0;
    for (Indices* const one : {&listed, &t.category})
      if (const int code = one->look(all); code != MPI_SUCCESS) return code;
    if (index < 0 || index >= all) return MPI_T_ERR_INVALID_INDEX;
    if (t.category.own(index) >= 0) {
      const int ours = &listed == &t.category ? 0 : listed.ours();
      for (int i = 0; i < std::min(length, ours); ++i) indices[i] = listed.first() + i;
      return MPI_SUCCESS;
    }
    const int of = t.category.to_host(index);
    int none = 0, nothing = 0, counts[3];
    if (const int code = call_host(host.T_category_get_info, of, nullptr, &none, nullptr, &nothing, &counts[0],
                                   &counts[1], &counts[2]);
        code != MPI_SUCCESS)
      return code;
    const int code = call_host(host.*of_host, of, length, indices);
    if (code != MPI_SUCCESS) return code;
    for (int i = 0; i < std::min(length, counts[place]); ++i) indices[i] = listed.from_host(indices[i]);
    return MPI_SUCCESS;
  });
}

}  // namespace

OMNES_EXPORT(T_cvar_get_num, int* count) { return count_all(&Tools::control, &Host::T_cvar_get_num, count); }

OMNES_EXPORT(T_cvar_get_info, int index, char* name, int* name_length, int* verbosity, MPI_Datatype* type,
             MPI_T_enum* enumeration, char* about, int* about_length, int* binding, int* scope) {
  const auto own = [&](int ours) -> int {
    const Control& of = controls()[ours];
    give(name, name_length, of.name);
    give(verbosity, static_cast<int>(of.of_communicator() ? MPI_T_VERBOSITY_TUNER_BASIC : MPI_T_VERBOSITY_USER_DETAIL));
    give(type, static_cast<MPI_Datatype>(MPI_CHAR));
    give(enumeration, MPI_T_ENUM_NULL);
    give(about, about_length, of.about);
    give(binding, static_cast<int>(of.of_communicator() ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT));
    give(scope, static_cast<int>(of.kind == Control::forced    ? MPI_T_SCOPE_ALL_EQ
                                 : of.kind == Control::setting ? MPI_T_SCOPE_CONSTANT
                                                               : MPI_T_SCOPE_READONLY));
    return MPI_SUCCESS;
  };
  return by_index(&Tools::control, &Host::T_cvar_get_info, index, own, name, name_length, verbosity, type, enumeration,
                  about, about_length, binding, scope);
}

OMNES_EXPORT(T_cvar_get_index, const char* name, int* index) {
  if (!shown() || !name) return call_host(host.T_cvar_get_index, name, index);
  return guarded([&]() -> int {
    return find_index(
        &Tools::control, controls(), index, [&](const Control& one) { return one.name == name; },
        [&] { return call_host(host.T_cvar_get_index, name, index); });
  });
}

OMNES_EXPORT(T_cvar_handle_alloc, int index, void* object, Wide* handle, int* count) {
  const auto own = [&](int ours) -> int {
    if (!handle || !count) return MPI_T_ERR_INVALID;
    const Control& control = controls()[ours];
    Controlling made;
    if (const int code = bind(control, static_cast<const MPI_Comm*>(object), made); code != MPI_SUCCESS) return code;
    const std::lock_guard lock(tools().mutex);
    *count = length_of(control);
    *handle = keep(tools().controlling, std::move(made));
    return MPI_SUCCESS;
  };
  return by_index(&Tools::control, &Host::T_cvar_handle_alloc, index, own, object, handle, count);
}

OMNES_EXPORT(T_cvar_handle_free, Wide* handle) {
  if (shown() && handle) {
    const std::lock_guard lock(tools().mutex);
    if (tools().controlling.erase(*handle) > 0) {
      *handle = reinterpret_cast<Wide>(MPI_T_CVAR_HANDLE_NULL);
      return MPI_SUCCESS;
    }
  }
  return call_host(host.T_cvar_handle_free, handle);
}

OMNES_EXPORT(T_cvar_read, Wide handle, void* value) {
  if (!shown()) return call_host(host.T_cvar_read, handle, value);
  return guarded([&]() -> int {
    Tools& t = tools();
    std::unique_lock lock(t.mutex);
    const Controlling* const of = t.controlling_at(handle);
    if (!of) {
      lock.unlock();
      return call_host(host.T_cvar_read, handle, value);
    }
    if (!value) return MPI_T_ERR_INVALID;
    const std::shared_ptr<State> state = state_of(*of);
    if (of->has_state && !state) return MPI_T_ERR_INVALID_HANDLE;
    int length = length_of(*of->control);
    give(static_cast<char*>(value), &length, text_of(*of->control, state.get()));
    return MPI_SUCCESS;
  });
}

OMNES_EXPORT(T_cvar_write, Wide handle, const void* value) {
  if (!shown()) return call_host(host.T_cvar_write, handle, value);
  return guarded([&]() -> int {
    Tools& t = tools();
    std::unique_lock lock(t.mutex);
    const Controlling* const to = t.controlling_at(handle);
    if (!to) {
      lock.unlock();
      return call_host(host.T_cvar_write, handle, value);
    }
    if (!value) return MPI_T_ERR_INVALID;
    const auto* const text = static_cast<const char*>(value);
    return write(*to, {text, strnlen(text, longest_choice)});
  });
}

OMNES_EXPORT(T_pvar_get_num, int* count) { return count_all(&Tools::performance, &Host::T_pvar_get_num, count); }

OMNES_EXPORT(T_pvar_get_info, int index, char* name, int* name_length, int* verbosity, int* var_class,
             MPI_Datatype* type, MPI_T_enum* enumeration, char* about, int* about_length, int* binding, int* readonly,
             int* continuous, int* atomic) {
  const auto own = [&](int ours) -> int {
    const Performance& of = performances()[ours];
    give(name, name_length, of.name);
    give(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
    give(var_class, static_cast<int>(of.counts ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_LEVEL));
    give(type, static_cast<MPI_Datatype>(MPI_UNSIGNED_LONG_LONG));
    give(enumeration, MPI_T_ENUM_NULL);
    give(about, about_length, of.about);
    give(binding, static_cast<int>(MPI_T_BIND_NO_OBJECT));
    give(readonly, of.counts ? 0 : 1);
    give(continuous, of.counts ? 0 : 1);
    give(atomic, of.counts ? 1 : 0);
    return MPI_SUCCESS;
  };
  return by_index(&Tools::performance, &Host::T_pvar_get_info, index, own, name, name_length, verbosity, var_class,
                  type, enumeration, about, about_length, binding, readonly, continuous, atomic);
}

OMNES_EXPORT(T_pvar_get_index, const char* name, int var_class, int* index) {
  if (!shown() || !name) return call_host(host.T_pvar_get_index, name, var_class, index);
  return guarded([&]() -> int {
    const auto is_it = [&](const Performance& one) {
      return one.name == name && var_class == (one.counts ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_LEVEL);
    };
    return find_index(&Tools::performance, performances(), index, is_it,
                      [&] { return call_host(host.T_pvar_get_index, name, var_class, index); });
  });
}

OMNES_EXPORT(T_pvar_session_create, Wide* session) {
  const int code = call_host(host.T_pvar_session_create, session);
  if (code != MPI_SUCCESS || !shown()) return code;
  return guarded([&]() -> int {
    const std::lock_guard lock(tools().mutex);
    tools().sessions.emplace(*session, 0);
    return MPI_SUCCESS;
  });
}

OMNES_EXPORT(T_pvar_session_free, Wide* session) {
  if (!shown() || !session) return call_host(host.T_pvar_session_free, session);
  const Wide freed = *session;
  const int code = call_host(host.T_pvar_session_free, session);
  if (code != MPI_SUCCESS) return code;
  const std::lock_guard lock(tools().mutex);
  tools().sessions.erase(freed);
  std::erase_if(tools().performing, [&](const auto& one) { return one.second->session == freed; });
  return code;
}

OMNES_EXPORT(T_pvar_handle_alloc, Wide session, int index, void* object, Wide* handle, int* count) {
  if (!shown()) return call_host(host.T_pvar_handle_alloc, session, index, object, handle, count);
  return guarded([&]() -> int {
    Tools& t = tools();
    int all = 0;
    if (const int code = t.performance.look(all); code != MPI_SUCCESS) return code;
    if (index < 0 || index >= all) return MPI_T_ERR_INVALID_INDEX;
    const int ours = t.performance.own(index);
    if (ours < 0) {
      const int code =
          call_host(host.T_pvar_handle_alloc, session, t.performance.to_host(index), object, handle, count);
      if (code == MPI_SUCCESS) t.count_handle(session, 1);
      return code;
    }
    if (!handle || !count) return MPI_T_ERR_INVALID;
    const std::lock_guard lock(t.mutex);
    if (!t.sessions.contains(session)) return MPI_T_ERR_INVALID_SESSION;
    *count = 1;
    *handle = keep(t.performing, Performing{&performances()[ours], session});
    return MPI_SUCCESS;
  });
}

OMNES_EXPORT(T_pvar_handle_free, Wide session, Wide* handle) {
  const auto free = [&](const Performing&) -> int {
    tools().performing.erase(*handle);
    *handle = reinterpret_cast<Wide>(MPI_T_PVAR_HANDLE_NULL);
    return MPI_SUCCESS;
  };
  if (shown() && handle)
    if (const std::optional<int> code = with_own(session, *handle, free)) return *code;
  const int code = call_host(host.T_pvar_handle_free, session, handle);
  if (code == MPI_SUCCESS && shown()) tools().count_handle(session, -1);
  return code;
}

OMNES_EXPORT(T_pvar_start, Wide session, Wide handle) {
  return with_handles(&Host::T_pvar_start, session, handle, [](Performing& of) -> int {
    if (!of.performance->counts) return MPI_T_ERR_PVAR_NO_STARTSTOP;
    counts::wanted = true;
    if (!of.running) of.before = of.now();
    of.running = true;
    return MPI_SUCCESS;
  });
}

OMNES_EXPORT(T_pvar_stop, Wide session, Wide handle) {
  return with_handles(&Host::T_pvar_stop, session, handle, [](Performing& of) -> int {
    if (!of.performance->counts) return MPI_T_ERR_PVAR_NO_STARTSTOP;
    of.sum = of.value();
    of.running = false;
    return MPI_SUCCESS;
  });
}

OMNES_EXPORT(T_pvar_read, Wide session, Wide handle, void* value) {
  const auto read = [&](const Performing& of) -> int {
    if (!value) return MPI_T_ERR_INVALID;
    *static_cast<unsigned long long*>(value) = of.value();
    return MPI_SUCCESS;
  };
  return with_handle(&Host::T_pvar_read, session, handle, read, value);
}

OMNES_EXPORT(T_pvar_write, Wide session, Wide handle, const void* value) {
  const auto write = [&](Performing& of) -> int {
    if (!of.performance->counts) return MPI_T_ERR_PVAR_NO_WRITE;
    if (!value) return MPI_T_ERR_INVALID;
    of.set(*static_cast<const unsigned long long*>(value));
    return MPI_SUCCESS;
  };
  return with_handle(&Host::T_pvar_write, session, handle, write, value);
}

OMNES_EXPORT(T_pvar_reset, Wide session, Wide handle) {
  return with_handles(&Host::T_pvar_reset, session, handle, [](Performing& of) -> int {
    if (!of.performance->counts) return MPI_T_ERR_PVAR_NO_WRITE;
    of.set(0);
    return MPI_SUCCESS;
  });
}

OMNES_EXPORT(T_pvar_readreset, Wide session, Wide handle, void* value) {
  const auto read = [&](Performing& of) -> int {
    if (!of.performance->counts) return MPI_T_ERR_PVAR_NO_ATOMIC;
    if (!value) return MPI_T_ERR_INVALID;
    const std::uint64_t now = of.now();
    *static_cast<unsigned long long*>(value) = of.counted(now);
    of.sum = 0;
    of.before = now;
    return MPI_SUCCESS;
  };
  return with_handle(&Host::T_pvar_readreset, session, handle, read, value);
}

OMNES_EXPORT(T_category_get_num, int* count) { return count_all(&Tools::category, &Host::T_category_get_num, count); }

OMNES_EXPORT(T_category_get_info, int index, char* name, int* name_length, char* about, int* about_length, int* control,
             int* performance, int* categories) {
  const auto own = [&](int) -> int {
    give(name, name_length, category_name);
    give(about, about_length, category_about);
    give(control, static_cast<int>(controls().size()));
    give(performance, static_cast<int>(performances().size()));
    give(categories, 0);
    return MPI_SUCCESS;
  };
  return by_index(&Tools::category, &Host::T_category_get_info, index, own, name, name_length, about, about_length,
                  control, performance, categories);
}

OMNES_EXPORT(T_category_get_index, const char* name, int* index) {
  if (!shown() || !name) return call_host(host.T_category_get_index, name, index);
  return guarded([&]() -> int {
    constexpr std::array all = {std::string_view(category_name)};
    return find_index(
        &Tools::category, all, index, [&](std::string_view one) { return one == name; },
        [&] { return call_host(host.T_category_get_index, name, index); });
  });
}

OMNES_EXPORT(T_category_get_cvars, int index, int length, int* indices) {
  return list(&Tools::control, &Host::T_category_get_cvars, 0, index, length, indices);
}

OMNES_EXPORT(T_category_get_pvars, int index, int length, int* indices) {
  return list(&Tools::performance, &Host::T_category_get_pvars, 1, index, length, indices);
}

OMNES_EXPORT(T_category_get_categories, int index, int length, int* indices) {
  return list(&Tools::category, &Host::T_category_get_categories, 2, index, length, indices);
}

// Events are the host's.
#ifdef OMNES_LARGE_COUNTS
OMNES_EXPORT(T_category_get_num_events, int index, int* events) {
  const auto own = [&](int) -> int {
    give(events, 0);
    return MPI_SUCCESS;
  };
  return by_index(&Tools::category, &Host::T_category_get_num_events, index, own, events);
}

OMNES_EXPORT(T_category_get_events, int index, int length, int* indices) {
  return by_index(
      &Tools::category, &Host::T_category_get_events, index, [](int) -> int { return MPI_SUCCESS; }, length, indices);
}
#endif

}  // namespace omnes::interpose
