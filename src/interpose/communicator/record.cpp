// The list of events, and the file that it becomes.
//
// The file has lines of words: who the rank is; what was left out and why; its communicators, with their members in
// MPI_COMM_WORLD, of intercommunicators those of both groups; the edges of those with topologies; the descriptions of calls; then an event on each line: the number of
// its description, the ns since the last one has ended, and the number of its request, if it has one. python/omnes/traces/assembly.py reads it.
#include "interpose/communicator/record.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "base/clock.hpp"
#include "interpose/communicator/members.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"
#include "interpose/types/types.hpp"

namespace omnes::interpose::record {

bool on = false;

namespace {

constexpr std::size_t max_events = 10'000'000;                       // of a rank: 120 MB
constexpr std::size_t max_bytes_described = std::size_t{256} << 20;  // of all descriptions

constexpr const char* op_names[] = {"sum",  "prod", "max", "min",  "land",   "lor",
                                    "lxor", "band", "bor", "bxor", "minloc", "maxloc"};
constexpr const char* element_names[] = {"i8",      "i16",     "i32",     "i64",     "u8",     "u16",     "u32",
                                         "u64",     "f32",     "f64",     "c64",     "c128",   "i16_i32", "i32_i32",
                                         "i64_i32", "f32_i32", "f64_i32", "f32_f32", "f64_f64"};

std::string list(const auto& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text.empty() ? "-" : text;
}

/// Of those that only the host combines: numbers that are wider than ours, and Fortran's truth values.
const char* element_of_host(const Operator& op) {
  const TypeInfo* const info = type_info(op.type);
  if (!info) return nullptr;
  if (info->kind == TypeClass::floating && info->size == sizeof(long double)) return "f128";
  if (info->kind == TypeClass::complex && info->size == 2 * sizeof(long double)) return "c256";
  if (info->kind != TypeClass::fortran_logical) return nullptr;
  return info->size == 1 ? "i8" : info->size == 2 ? "i16" : info->size == 4 ? "i32" : info->size == 8 ? "i64" : nullptr;
}

const char* name_of_host(MPI_Op op) {
  const std::pair<MPI_Op, const char*> all[] = {{MPI_SUM, "sum"},  {MPI_PROD, "prod"}, {MPI_MAX, "max"},
                                                {MPI_MIN, "min"},  {MPI_LAND, "land"}, {MPI_LOR, "lor"},
                                                {MPI_LXOR, "lxor"}};
  for (const auto& [known, name] : all)
    if (op == known) return name;
  return nullptr;
}

/// "sum:f64"; what is no predefined operation on a type of C is taken for one of the program's.
std::string name(const Operator& op) {
  if (op.is_programs) return "program";
  for (std::size_t o = 0; o < std::size(op_names); ++o)
    for (std::size_t e = 0; e < std::size(element_names); ++e)
      if (const ReduceFn fn = kernel(static_cast<ReduceOp>(o), static_cast<Element>(e)); fn && fn == op.reduction.fn)
        return std::string(op_names[o]) + ':' + element_names[e];
  const char* const operation = op.reduction.context ? name_of_host(op.op) : nullptr;
  const char* const element = operation ? element_of_host(op) : nullptr;
  return element ? std::string(operation) + ':' + element : "program";
}

/// From the first of the parts that are not empty.
std::string displacements(std::span<const std::size_t> starts, std::span<const std::size_t> counts) {
  std::vector<std::int64_t> from(starts.begin(), starts.end());
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (counts[i] > 0) first = std::min(first, from[i]);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = counts[i] > 0 ? from[i] - first : 0;
  return list(from);
}

/// How much each part has, and where it lies.
std::string parts(const Call& call) {
  std::string text;
  if (!call.send_counts.empty()) text += " send=" + list(call.send_counts);
  if (!call.send_starts.empty()) text += " send_at=" + displacements(call.send_starts, call.send_counts);
  if (!call.recv_counts.empty()) text += " recv=" + list(call.recv_counts);
  if (!call.recv_starts.empty()) text += " recv_at=" + displacements(call.recv_starts, call.recv_counts);
  return text;
}

std::string elements(const Job& job) {
  if (!job.call.reduction) return "";
  return " element=" + std::to_string(job.call.element) + " reduction=" + name(job.op);
}

std::string arguments(const Job& job) {
  const Call& call = job.call;
  std::string text;
  if (rooted(call.operation)) text += " root=" + std::to_string(call.root);
  if (call.in_place || job.moves_in_place()) text += " in_place=1";
  if (call.operation != Operation::barrier) text += " count=" + std::to_string(call.count);
  return text + elements(job) + parts(call);
}

/// Between two groups: as the program has called it, whatever it runs as (describe/between.hpp).
std::string arguments_between(const State& state, Operation operation, const Job& job) {
  using enum Operation;
  const Call& call = job.call;
  if (operation == barrier) return "";
  std::string root;
  if (rooted(operation)) {
    if (job.root < 0) return " root=none";
    root = " root=" + std::to_string(job.root);
  }
  const auto count = [](std::size_t of) { return " count=" + std::to_string(of); };
  if (operation == reduce_scatter || operation == reduce_scatter_block) {
    const std::string own = count(job.counts[state.rank - state.own_group().first]) + elements(job);
    return operation == reduce_scatter ? own + " send=" + list(job.counts) : own;
  }
  const bool at_root = rooted(operation) && job.root == state.rank;
  if (operation == gather) return root + count(call.count);
  if (operation == scatter) return root + count((at_root ? call.send_counts : call.recv_counts)[0]);
  if (operation == scatterv && !at_root) return root + count(call.recv_counts[0]);
  return root + count(call.count) + elements(job) + parts(call);
}

struct Event {
  std::uint32_t description;
  std::uint32_t gap;      // ns; the longest stands for all that are longer
  std::uint32_t request;  // 0: none
};

struct Communicator {
  std::uint64_t id;
  std::vector<int> members;
  int first_group = 0;  // of an intercommunicator: as many of them are the first group
  std::unique_ptr<Neighbors> edges = {};
};

struct Request {
  std::uint32_t number;
  bool persistent;
  bool active;
};

OMNES_FAST_THREAD_LOCAL Within* within = nullptr;

}  // namespace

struct Recorder {
  std::mutex mutex;
  std::thread::id first;  ///< the thread whose calls are recorded
  bool full = false;
  std::vector<Event> events;
  std::unordered_map<std::string, std::uint32_t> descriptions;
  std::size_t bytes_described = 0;
  std::vector<Communicator> communicators;
  std::unordered_map<MPI_Comm, std::size_t> numbers;  ///< of those that there are now
  std::unordered_map<MPI_Request, Request> requests;
  std::vector<std::uint32_t> free_requests;
  std::uint32_t last_request = 0;
  std::uint32_t fresh = 0;  ///< of the call that has not got its request yet
  bool fresh_is_persistent = false;
  std::map<std::tuple<Operation, Form, std::string>, std::uint64_t> left;
  std::int64_t begun = monotonic_ns(), last_end = begun;

  bool is_first() {
    if (first == std::thread::id()) first = std::this_thread::get_id();
    return first == std::this_thread::get_id();
  }

  void add(const std::string& description, std::uint32_t request = 0) {
    if (full) return;
    const auto [at, is_new] = descriptions.try_emplace(description, static_cast<std::uint32_t>(descriptions.size()));
    if (is_new) bytes_described += description.size();
    full = events.size() == max_events || bytes_described > max_bytes_described;
    if (full) return;
    const bool follows = within && within->has_events_;
    const std::int64_t gap = follows ? 0 : (within ? within->since_ : monotonic_ns()) - last_end;
    constexpr std::int64_t longest = std::numeric_limits<std::uint32_t>::max();
    events.push_back({at->second, static_cast<std::uint32_t>(std::clamp<std::int64_t>(gap, 0, longest)), request});
    for (Within* w = within; w; w = w->outer_) w->has_events_ = true;
    if (!within) last_end = monotonic_ns();
  }

  void note_call() {
    if (within) within->has_call_ = true;
  }
  void leave_out(Operation operation, Form form, const char* reason) {
    if (within && within->has_call_) return;
    ++left[{operation, form, reason}];
  }

  std::size_t number_of(const State& state, MPI_Comm comm) {
    if (const auto found = numbers.find(comm); found != numbers.end()) return found->second;
    return number(comm, 0, state.ranks, state.first_group);
  }
  std::size_t number(MPI_Comm comm, std::uint64_t id, std::vector<int> members, int first_group = 0) {
    communicators.push_back({id, std::move(members), first_group});
    return numbers[comm] = communicators.size() - 1;
  }

  std::uint32_t take_request() {
    if (free_requests.empty()) return ++last_request;
    const std::uint32_t number = free_requests.back();
    free_requests.pop_back();
    return number;
  }

  void complete(MPI_Request request) {
    const auto found = requests.find(request);
    if (found == requests.end() || !found->second.active) return;
    add("wait", found->second.number);
    found->second.active = false;
    if (found->second.persistent) return;
    free_requests.push_back(found->second.number);
    requests.erase(found);
  }

  void write(std::FILE* file) const;
  bool write(const std::string& name) const {
    std::FILE* const file = std::fopen(name.c_str(), "w");
    if (!file) return false;
    write(file);
    return std::fclose(file) == 0;
  }
};

namespace {

Recorder& recorder() {
  static Recorder* const the = new Recorder;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

}  // namespace

void Recorder::write(std::FILE* file) const {
  std::fprintf(file, "omnes calls of a rank 1\nrank %d of %d\nlibrary %s\n", process().rank, process().size,
               interpose::name(built_for));
  std::fprintf(file, "seconds %.6f\nstopped %d\n", static_cast<double>(last_end - begun) * 1e-9, full);
  for (const auto& [what, calls] : left) {
    const auto& [operation, form, reason] = what;
    std::fprintf(file, "left %s %s %llu %s\n", std::string(omnes::name(operation)).c_str(),
                 std::string(omnes::name(form)).c_str(), static_cast<unsigned long long>(calls), reason.c_str());
  }
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    const auto& [id, members, first_group, edges] = communicators[i];
    const std::span<const int> all(members);
    std::fprintf(file, "%s %zu %llx", first_group > 0 ? "between" : "communicator", i,
                 static_cast<unsigned long long>(id));
    if (first_group > 0) std::fprintf(file, " %s", list(all.first(first_group)).c_str());
    std::fprintf(file, " %s\n", list(all.subspan(first_group)).c_str());
  }
  for (std::size_t i = 0; i < communicators.size(); ++i)
    if (const auto& edges = communicators[i].edges)
      std::fprintf(file, "edges %zu %s %s\n", i, list(edges->sources).c_str(), list(edges->destinations).c_str());
  std::vector<const std::string*> texts(descriptions.size());
  for (const auto& [text, number] : descriptions) texts[number] = &text;
  for (const std::string* text : texts) std::fprintf(file, "call %s\n", text->c_str());
  std::fprintf(file, "events %zu\n", events.size());
  for (const Event& event : events) {
    if (event.request == 0)
      std::fprintf(file, "%u %u\n", event.description, event.gap);
    else
      std::fprintf(file, "%u %u %u\n", event.description, event.gap, event.request);
  }
  std::fprintf(file, "end\n");
}

void Within::enter() {
  entered_ = true;
  outer_ = within;
  since_ = outer_ ? outer_->since_ : monotonic_ns();
  has_events_ = outer_ && outer_->has_events_;
  within = this;
}

void Within::leave() {
  within = outer_;
  if (outer_ || !has_events_) return;
  Recorder& r = recorder();
  const std::lock_guard lock(r.mutex);
  r.last_end = monotonic_ns();
}

void begin() {
  if (simulated) return;  // all ranks are one process
  Recorder& r = recorder();
  std::vector<int> all(process().size);
  for (int rank = 0; rank < process().size; ++rank) all[rank] = rank;
  r.number(handles.comm_world, 1, std::move(all));
  r.number(handles.comm_self, 2, {process().rank});
  detours.fetch_add(1, std::memory_order_relaxed);  // no request goes straight to the host
  on = true;
}

void end() {
  if (!on) return;
  on = false;
  Recorder& r = recorder();
  const std::lock_guard lock(r.mutex);
  r.write(*process().settings.record + "/calls-" + std::to_string(process().rank) + ".txt");
}

/// note(recorder), by one thread at a time. Where there is no memory for it, nothing more is noted.
template <class Note>
static void with_recorder(Note note) {
  Recorder& r = recorder();
  const std::lock_guard lock(r.mutex);
  try {
    note(r);
  } catch (const std::bad_alloc&) {
    r.full = true;
  }
}

void call(const State& state, MPI_Comm comm, Operation operation, Form form, const Job& job) {
  with_recorder([&](Recorder& r) {
    if (!r.is_first()) {
      r.leave_out(operation, form, "made by another thread than the first");
      r.note_call();
      return;
    }
    const std::size_t number = r.number_of(state, comm);
    std::unique_ptr<Neighbors>& edges = r.communicators[number].edges;
    if (among_neighbors(operation) && job.call.neighbors && !edges)
      edges = std::make_unique<Neighbors>(*job.call.neighbors);
    r.fresh = form == Form::blocking ? 0 : r.take_request();
    r.fresh_is_persistent = form == Form::persistent;
    const std::string what = std::string(omnes::name(operation)) + ' ' + std::string(omnes::name(form));
    const std::string with = state.first_group > 0 ? arguments_between(state, operation, job) : arguments(job);
    r.add(what + " on=" + std::to_string(number) + with, r.fresh);
    r.note_call();
  });
}

void requested(MPI_Request request) {
  with_recorder([&](Recorder& r) {
    if (!r.is_first() || r.fresh == 0) return;
    r.requests[request] = {r.fresh, r.fresh_is_persistent, !r.fresh_is_persistent};
    r.fresh = 0;
  });
}

void left_out(Operation operation, Form form, const char* reason) {
  with_recorder([&](Recorder& r) { r.leave_out(operation, form, reason); });
}

void made(MPI_Comm parent, std::uint64_t id, bool same_members, MPI_Comm comm) {
  with_recorder([&](Recorder& r) {
    const bool is_null = comm == handles.comm_null;
    if (!is_null) r.numbers.erase(comm);  // one of that handle is gone
    const auto found = r.numbers.find(parent);
    if (id == 0 || found == r.numbers.end() || !r.is_first()) return;
    const std::size_t of = found->second;
    std::string as = "none";
    if (!is_null) {
      int size = 0;
      if (!world() || host.Comm_size(comm, &size) != MPI_SUCCESS) return;
      try {
        as = std::to_string(r.number(comm, id, ranks_in_world(comm, size)));
      } catch (const Failure&) {  // the error handler has heard of it
        return;
      }
    }
    char identity[24];
    std::snprintf(identity, sizeof identity, "%llx", static_cast<unsigned long long>(id));
    r.add((same_members ? "dup on=" : "split on=") + std::to_string(of) + " as=" + as + " id=" + identity);
  });
}

void freed(MPI_Comm comm) {
  with_recorder([&](Recorder& r) {
    const auto found = r.numbers.find(comm);
    if (found == r.numbers.end() || comm == handles.comm_world || comm == handles.comm_self) return;
    if (r.is_first()) r.add("free on=" + std::to_string(found->second));
    r.numbers.erase(found);
  });
}

void started(MPI_Request request) {
  with_recorder([&](Recorder& r) {
    const auto found = r.requests.find(request);
    if (found == r.requests.end() || !found->second.persistent || found->second.active) return;
    found->second.active = true;
    r.add("start", found->second.number);
  });
}

void released(MPI_Request request) {
  with_recorder([&](Recorder& r) {
    const auto found = r.requests.find(request);
    if (found == r.requests.end()) return;
    r.add("release", found->second.number);
    r.free_requests.push_back(found->second.number);
    r.requests.erase(found);
  });
}

Watched::Watched(int count, const MPI_Request* requests) {
  if (!on || !requests) return;
  with_recorder([&](Recorder& r) {
    for (int i = 0; i < count; ++i)
      if (r.requests.contains(requests[i])) ours_.push_back({i, requests[i]});
  });
}

void Watched::all() const {
  with_recorder([&](Recorder& r) {
    for (const Of& of : ours_) r.complete(of.request);
  });
}

void Watched::some(int count, const int* indices) const {
  with_recorder([&](Recorder& r) {
    for (int i = 0; i < count; ++i)
      for (const Of& of : ours_)
        if (of.index == indices[i]) r.complete(of.request);
  });
}

}  // namespace omnes::interpose::record
