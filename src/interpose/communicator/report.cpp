// Gathers statistics of all teams, also of those freed, and writes them as JSON.
//
// MPI_Finalize deletes the attributes of MPI_COMM_SELF first of all, while MPI still works: that is the moment.
#include "interpose/communicator/report.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpose/communicator/origins.hpp"
#include "interpose/communicator/record.hpp"
#include "interpose/communicator/sites.hpp"
#include "interpose/host/export.hpp"
#include "interpose/host/failure.hpp"
#include "interpose/process/notes.hpp"
#include "interpose/process/own_memory.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose {

/// Calls of one kind that the host was left to make, on one communicator.
struct Passed {
  Operation operation;
  Form form;
  const char* reason;
  std::size_t bytes;  // rounded down to a power of two
  Prepared::Counted counted{};
};

/// A function that is no collective.
struct Function {
  const char* name = nullptr;
  std::uint64_t calls = 0;
  std::int64_t ns = 0;
};

namespace {

/// What only looks on does without what there is no memory for.
template <class Look>
void if_memory_allows(Look look) try {
  look();
} catch (const std::bad_alloc&) {
}

// Of all ranks together, for each kind of call of a communicator: 32 bytes each in memory, as many in the file.
constexpr std::size_t max_timed_of_job = std::size_t{1} << 20;
constexpr std::size_t max_timed = 4096, min_timed = 64;  // of a rank, for each kind
constexpr std::size_t max_timed_of_freed = 256;          // the same, of a communicator that is gone
constexpr std::size_t max_timed_of_all_freed = std::size_t{1} << 18;

std::size_t timed_of_each() { return std::clamp(max_timed_of_job / process().size, min_timed, max_timed); }

/// Ranks in runs of equal steps: "0-7", "0-56:8,3", in their order.
std::string runs_of(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0, end; i < ranks.size(); i = end) {
    end = i + 1;
    const int step = end < ranks.size() ? ranks[end] - ranks[i] : 1;
    while (end < ranks.size() && ranks[end] - ranks[end - 1] == step) ++end;
    if (end - i == 2) --end;  // two ranks are no run
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (end - i > 1) text += "-" + std::to_string(ranks[end - 1]);
    if (end - i > 1 && step != 1) text += ":" + std::to_string(step);
  }
  return text;
}

/// A communicator of which calls were timed.
struct Timed {
  std::uint64_t id;  // see Origin; 0: nobody knows
  int group;
  Samples samples;
};

/// A communicator of which the host makes calls.
struct Passing {
  int p = 0, group = -1;
  std::uint64_t id = 0;
  Samples own;                 // where the state has none
  Samples* samples = nullptr;  // null: its members are not known
  std::deque<Passed> kinds;

  Passed* find(Operation operation, Form form, const char* reason, std::size_t bytes) {
    for (Passed& kind : kinds)
      if (kind.operation == operation && kind.bytes == bytes && kind.form == form && kind.reason == reason)
        return &kind;
    return nullptr;
  }
};

struct Totals {
  std::mutex mutex;
  std::int64_t begun = 0;  // ns of CLOCK_MONOTONIC
  std::set<State*> live;
  std::map<std::string, int> groups;  ///< members of the communicators that have reported, and their numbers here
  /// By operation, form, root, the communicator's ranks, nodes and group, size of a part, algorithm.
  std::map<std::tuple<Operation, Form, int, int, int, int, std::size_t, std::string>, Ran> ran;
  /// By operation, form, reason, the communicator's ranks and group, size of a part.
  std::map<std::tuple<Operation, Form, std::string, int, int, std::size_t>, Prepared::Counted> passed;
  std::unordered_map<MPI_Comm, Passing> passing;
  MPI_Comm last{};  // the one that was asked for last
  Passing* last_passing = nullptr;
  std::vector<Timed> timed;
  std::size_t timed_of_freed = 0;
  std::deque<Function> functions;

  int group_of(const std::vector<int>& ranks) {
    return groups.try_emplace(runs_of(ranks), static_cast<int>(groups.size())).first->second;
  }
  /// -1: there are others than MPI_COMM_WORLD's among them.
  int group_of(const Members& members) { return members.world == world() ? group_of(members.ranks) : -1; }

  void add(const State& state, bool freed) {
    if (!state.team) return;
    const auto statistics = state.team->statistics();
    if (Samples& samples = state.team->samples(); !samples.samples.empty())
      keep(state.id, group_of(state), std::move(samples), freed);
    if (statistics.empty()) return;
    const int group = group_of(state);
    for (const Ran& more : statistics) {
      const auto [at, is_new] = ran.try_emplace(
          {more.operation, more.form, more.root, state.p, state.team->nodes(), group, more.bytes, more.algorithm},
          more);
      if (is_new) continue;
      Ran& sum = at->second;
      sum.calls += more.calls;
      sum.volume += more.volume;
      sum.seconds += more.seconds;
      sum.fastest = std::min(sum.fastest, more.fastest);
    }
  }

  void keep(std::uint64_t id, int group, Samples&& samples, bool freed) {
    if (id == 0 || group < 0) return;  // nobody could compare them
    if (freed) {
      for (auto& [kind, sample] : samples.samples) {
        sample.thin_to(timed_of_freed < max_timed_of_all_freed ? max_timed_of_freed : 0);
        timed_of_freed += sample.timed().size();
      }
    }
    timed.push_back({id, group, std::move(samples)});
  }

  /// With the mutex. Null: no call of it has ended.
  Passing* find(MPI_Comm comm) {
    if (last_passing && last == comm) return last_passing;
    const auto found = passing.find(comm);
    if (found == passing.end()) return nullptr;
    last = comm;
    return last_passing = &found->second;
  }

  /// With the mutex.
  void retire(Passing& of, bool freed) {
    for (const Passed& kind : of.kinds) {
      Prepared::Counted& sum = passed[{kind.operation, kind.form, kind.reason, of.p, of.group, kind.bytes}];
      sum.calls += kind.counted.calls;
      sum.volume += kind.counted.volume;
      sum.seconds += kind.counted.seconds;
      sum.fastest = std::min(sum.fastest, kind.counted.fastest);
    }
    if (of.samples == &of.own && !of.own.samples.empty()) keep(of.id, of.group, std::move(of.own), freed);
  }
};

Totals& totals() {
  static Totals* const the = new Totals;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

std::atomic<bool> ended{false};

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      result += code;
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9f", seconds);
  return text;
}

std::string counted(std::uint64_t calls, double seconds) {
  return ",\"calls\":" + std::to_string(calls) + ",\"seconds\":" + seconds_text(seconds) + "}";
}

template <class Items, class Write>
std::string list(const Items& items, Write write) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "\n" : ",\n") + write(item);
  return "[" + text + "]";
}

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::string head(int rank, int size, int node) {
  return "{\"rank\":" + std::to_string(rank) + ",\"size\":" + std::to_string(size) +
         ",\"node\":" + std::to_string(node) + ",\"library\":" + in_quotes(name(built_for));
}

void write(const std::string& folder, int rank, const std::string& text) {
  std::ofstream(folder + "/rank-" + std::to_string(rank) + ".json") << text;
}

int units(const PlacementLevel& level) { return *std::ranges::max_element(level.unit) + 1; }

std::string hexadecimal(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(number));
  return text;
}

/// Each call: its number, ns from `begun` to its begin, ns that it took, its root, its site.
std::string timed_text(const Sample& sample, std::int64_t begun) {
  std::string text;
  for (const TimedCall& call : sample.timed()) {
    if (!text.empty()) text += ',';
    for (const std::int64_t word :
         {static_cast<std::int64_t>(call.number), call.begin - begun, call.end - call.begin, std::int64_t{call.root}})
      (text += text.empty() || text.back() == ',' ? "[" : ",") += std::to_string(word);
    (text += ',') += std::to_string(call.site) + "]";
  }
  return text;
}

std::string to_json(Totals& t, std::int64_t ended_at) {
  const Process& self = process();
  const int node = world() ? world()->first_here() : self.rank;
  std::string text = head(self.rank, self.size, node);
  if (world()) {
    text += std::string(",\"shares_cpu\":") + (world()->shares_cpu[self.rank] ? "true" : "false");
    const Placed placed = world()->place(all_ranks(self.size));
    text += ",\n\"levels\":" + list(placed.placement.levels, [](const PlacementLevel& level) {
              return "{\"level\":" + in_quotes(level.name) + ",\"units\":" + std::to_string(units(level)) + "}";
            });
    text += ",\n\"left_out\":" + list(placed.left_out, [](const LeftOut& left_out) {
              return "{\"level\":" + in_quotes(left_out.level) + ",\"kind\":" + in_quotes(name(left_out.kind)) +
                     ",\"why\":" + in_quotes(left_out.why) + "}";
            });
  }
  std::vector<std::string> groups(t.groups.size());
  for (const auto& [members, number] : t.groups) groups[number] = members;
  text += ",\n\"groups\":" + list(groups, [](const std::string& members) { return in_quotes(members); });
  text += ",\n\"entries\":" + list(t.ran, [](const auto& item) {
            const auto& [operation, form, root, ranks, nodes, group, bytes, algorithm] = item.first;
            const Ran& ran = item.second;
            return "{\"operation\":" + in_quotes(name(operation)) + ",\"form\":" + in_quotes(name(form)) +
                   ",\"root\":" + std::to_string(root) + ",\"size\":" + std::to_string(ranks) +
                   ",\"group\":" + std::to_string(group) + ",\"nodes\":" + std::to_string(nodes) +
                   ",\"bytes\":" + std::to_string(bytes) + ",\"algorithm\":" + in_quotes(algorithm) +
                   (ran.advice.empty() ? "" : ",\"model\":" + in_quotes(ran.advice)) +
                   ",\"volume\":" + std::to_string(ran.volume) + ",\"fastest\":" + seconds_text(ran.fastest) +
                   counted(ran.calls, ran.seconds);
          });
  text += ",\n\"passed\":" + list(t.passed, [](const auto& item) {
            const auto& [operation, form, reason, ranks, group, bytes] = item.first;
            const Prepared::Counted& sum = item.second;
            return "{\"operation\":" + in_quotes(name(operation)) + ",\"form\":" + in_quotes(name(form)) +
                   ",\"reason\":" + in_quotes(reason) + ",\"size\":" + std::to_string(ranks) +
                   ",\"group\":" + std::to_string(group) + ",\"bytes\":" + std::to_string(bytes) +
                   ",\"volume\":" + std::to_string(sum.volume) + ",\"fastest\":" + seconds_text(sum.fastest) +
                   counted(sum.calls, sum.seconds);
          });
  text += ",\n\"seconds\":" + seconds_text(static_cast<double>(ended_at - t.begun) * 1e-9);
  text += ",\"begun\":" + std::to_string(t.begun);
  if (const shm::Adoption* const adoption = adoption_if_made()) {
    const shm::AdoptionTally tally = adoption->tally();
    text += ",\n\"adopted\":{\"buffers\":" + std::to_string(tally.buffers) +
            ",\"bytes\":" + std::to_string(tally.bytes) + ",\"refused\":" + std::to_string(tally.refused) +
            ",\"uses\":" + std::to_string(tally.uses) + ",\"seconds\":" + seconds_text(tally.spent * 1e-9) +
            ",\"saved\":" + seconds_text(tally.saved * 1e-9) + "}";
  }
  text += ",\n\"functions\":" + list(t.functions, [](const Function& function) {
            return "{\"function\":" + in_quotes(function.name) +
                   counted(function.calls, static_cast<double>(function.ns) * 1e-9);
          });
  text += ",\n\"timed\":" + list(t.timed, [&](const Timed& of) {
            return "{\"communicator\":" + in_quotes(hexadecimal(of.id)) + ",\"group\":" + std::to_string(of.group) +
                   ",\"kinds\":" +
                   list(of.samples.samples,
                        [&](const auto& item) {
                          return "{\"operation\":" + in_quotes(name(item.first.first)) +
                                 ",\"bytes\":" + std::to_string(item.first.second) +
                                 ",\"calls\":" + std::to_string(item.second.calls()) + ",\"timed\":[" +
                                 timed_text(item.second, t.begun) + "]}";
                        }) +
                   "}";
          });
  text += ",\n\"sites\":" + list(sites(), [](const Site& site) {
            return "{\"object\":" + in_quotes(site.object) + ",\"offset\":" + std::to_string(site.offset) +
                   ",\"address\":" + std::to_string(site.address) + ",\"symbol\":" + in_quotes(site.symbol) + "}";
          });
  text += ",\n\"notes\":" + list(all_notes(), [](const auto& item) { return in_quotes(item); });
  return text + "}\n";
}

int finalize(MPI_Comm, int, void*, void*) {
  ended = true;
  record::end();
  MPI_Request idle = std::exchange(process().idle, MPI_REQUEST_NULL);
  if (idle != handles.request_null) {
    if (host.Cancel(&idle) == MPI_SUCCESS)
      host.Wait(&idle, MPI_STATUS_IGNORE);
    else
      host.Request_free(&idle);
  }
  if (!reporting()) return MPI_SUCCESS;
  if_memory_allows([] {
    const std::int64_t ended_at = monotonic_ns();
    Totals& t = totals();
    const std::lock_guard lock(t.mutex);
    for (auto& [comm, passing] : t.passing) t.retire(passing, false);
    for (const State* state : t.live) t.add(*state, false);
    write(*process().settings.stats, process().rank, to_json(t, ended_at));
  });
  return MPI_SUCCESS;
}

}  // namespace

int prepare_report() {
  int keyval = MPI_KEYVAL_INVALID;
  if (reporting()) {
    detours.fetch_add(1, std::memory_order_relaxed);  // all pass through what times them
    if (process().settings.call_sites) call_site = find_site;
    begin_report();
  }
  if (const int code = host.Comm_create_keyval(no_copy, finalize, &keyval, nullptr); code != MPI_SUCCESS) return code;
  return host.Comm_set_attr(handles.comm_self, keyval, nullptr);
}

void report_wrong_family(Family theirs) {
  int initialised = 0, rank = 0, size = 0;
  const Wide world = world_of(theirs);
  if (world == 0 || host.Initialized(&initialised) != MPI_SUCCESS || !initialised) return;
  for (const char* const variable : {"OMNES_STATS", "OMNES_NOTICES"}) {
    const char* const folder = std::getenv(variable);
    if (!folder || call_host(host.Comm_rank, world, &rank) != 0 || call_host(host.Comm_size, world, &size) != 0)
      continue;
    write(folder, rank,
          head(rank, size, 0) + ",\"wrong_family\":" + in_quotes(name(theirs)) +
              ",\"entries\":[],\"passed\":[],\"notes\":[]}\n");
  }
}

bool finalizing() { return ended; }

bool reporting() { return process().settings.stats.has_value(); }

void begin_report() {
  if (reporting()) totals().begun = monotonic_ns();
}

void enlist(State& state) {
  if (!reporting() || !state.team) return;
  state.team->keep_statistics(timed_of_each());
  const std::lock_guard lock(totals().mutex);
  totals().live.insert(&state);
}

void retire(State& state) {
  if (!reporting()) return;
  const std::lock_guard lock(totals().mutex);
  if (totals().live.erase(&state)) if_memory_allows([&] { totals().add(state, true); });
}

void retire(MPI_Comm comm) {
  if (!reporting()) return;
  Totals& t = totals();
  const std::lock_guard lock(t.mutex);
  t.last_passing = nullptr;
  const auto found = t.passing.find(comm);
  if (found == t.passing.end()) return;
  if_memory_allows([&] { t.retire(found->second, true); });
  t.passing.erase(found);
}

namespace {

/// After a call on it that has succeeded, so that it is one. Throws Failure.
void introduce(Passing& of, MPI_Comm comm, State* state) {
  if (state && state->team) {
    of.p = state->p;
    of.group = totals().group_of(*state);
    of.samples = &state->team->samples();
    return;
  }
  check_raised(host.Comm_size(comm, &of.p));
  int inter = 0;
  check_raised(host.Comm_test_inter(comm, &inter));
  if (inter) return;
  const std::vector<int> ranks = ranks_in_world(comm, of.p);
  if (ranks.empty()) return;
  of.group = totals().group_of(ranks);
  of.id = origin_of(comm).id;
  of.own.most = timed_of_each();
  of.samples = &of.own;
}

}  // namespace

PassedCall::PassedCall(MPI_Comm comm, State* state, Operation operation, Form form, const char* reason, int root,
                       std::size_t bytes)
    : comm_(comm), state_(state), operation_(operation), form_(form), reason_(reason), root_(root), bytes_(bytes) {
  Totals& t = totals();
  const std::lock_guard lock(t.mutex);
  Passing* const of = t.find(comm);
  kind_ = of ? of->find(operation, form, reason, std::bit_floor(bytes)) : nullptr;
  if (kind_) {
    ++kind_->counted.calls;
    kind_->counted.volume += bytes;
    kept_ = kind_->counted.sample && kind_->counted.sample->takes();
  }
  Samples* const samples = of ? of->samples : state && state->team ? &state->team->samples() : nullptr;
  begin_ = samples ? samples->begin() : monotonic_ns();
}

void PassedCall::end(int code) try {
  const std::int64_t end = monotonic_ns();
  Totals& t = totals();
  const std::lock_guard lock(t.mutex);
  if (!kind_) {
    Passing* of = t.find(comm_);
    if (!of) {
      of = &t.passing[comm_];
      try {
        if (code == MPI_SUCCESS) introduce(*of, comm_, state_);
      } catch (const Failure&) {
      }
    }
    kind_ = &of->kinds.emplace_back(Passed{operation_, form_, reason_, std::bit_floor(bytes_)});
    kind_->counted.calls = 1;
    kind_->counted.volume = bytes_;
    if (form_ == Form::blocking && of->samples && code == MPI_SUCCESS) {
      kind_->counted.sample = &of->samples->of(operation_, kind_->bytes);
      kept_ = kind_->counted.sample->takes();
    }
  }
  kind_->counted.time(static_cast<double>(end - begin_) * 1e-9);
  if (kept_) kind_->counted.sample->add(begin_, end, root_, call_site ? call_site() : 0);
} catch (const std::bad_alloc&) {  // it is not counted
}

void InMpi::enter(const char* name) try {
  Totals& t = totals();
  const std::lock_guard lock(t.mutex);
  Function* function = nullptr;
  for (Function& known : t.functions)
    if (known.name == name) function = &known;
  if (!function) {
    function = &t.functions.emplace_back();
    function->name = name;
  }
  ++function->calls;
  function_ = function;
  begin_ = monotonic_ns();
} catch (const std::bad_alloc&) {  // likewise
}

void InMpi::leave() {
  const std::int64_t end = monotonic_ns();
  const std::lock_guard lock(totals().mutex);
  function_->ns += end - begin_;
}

}  // namespace omnes::interpose
