// Gathers statistics of all teams, also of those freed, and writes them as JSON.
//
// MPI_Finalize deletes the attributes of MPI_COMM_SELF first of all, while MPI still works: that is the moment.
#include "interpose/communicator/report.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "interpose/communicator/record.hpp"
#include "interpose/host/export.hpp"
#include "interpose/process/notes.hpp"
#include "interpose/process/process.hpp"
#include "interpose/process/world.hpp"

namespace omnes::interpose {

namespace {

struct Passed {
  std::uint64_t calls = 0;
  double seconds = 0;
};

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

struct Totals {
  std::mutex mutex;
  std::set<State*> live;
  std::map<std::string, int> groups;  ///< members of the communicators that have reported, and their numbers here
  /// By operation, form, root, the communicator's ranks, nodes and group, size of a part, algorithm.
  std::map<std::tuple<Operation, Form, int, int, int, int, std::size_t, std::string>, Ran> ran;
  std::map<std::tuple<Operation, Form, std::string>, Passed> passed;

  void add(const State& state) {
    if (!state.team) return;
    const auto statistics = state.team->statistics();
    if (statistics.empty()) return;
    const int group = groups.try_emplace(runs_of(state.ranks), static_cast<int>(groups.size())).first->second;
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
};

Totals& totals() {
  static Totals* const the = new Totals;  // never destroyed: MPI may be finalised by a destructor
  return *the;
}

std::atomic<bool> ended{false};

std::string quoted(std::string_view text) {
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
         ",\"node\":" + std::to_string(node) + ",\"library\":" + quoted(name(built_for));
}

void write(const std::string& folder, int rank, const std::string& text) {
  std::ofstream(folder + "/rank-" + std::to_string(rank) + ".json") << text;
}

int units(const PlacementLevel& level) { return *std::ranges::max_element(level.unit) + 1; }

std::string to_json(Totals& t) {
  const Process& self = process();
  const int node = world() ? world()->first_here() : self.rank;
  std::string text = head(self.rank, self.size, node);
  if (world()) {
    const Placed placed = world()->place(all_ranks(self.size));
    text += ",\n\"levels\":" + list(placed.placement.levels, [](const PlacementLevel& level) {
              return "{\"level\":" + quoted(level.name) + ",\"units\":" + std::to_string(units(level)) + "}";
            });
    text += ",\n\"left_out\":" + list(placed.left_out, [](const LeftOut& left_out) {
              return "{\"level\":" + quoted(left_out.level) + ",\"kind\":" + quoted(name(left_out.kind)) +
                     ",\"why\":" + quoted(left_out.why) + "}";
            });
  }
  std::vector<std::string> groups(t.groups.size());
  for (const auto& [members, number] : t.groups) groups[number] = members;
  text += ",\n\"groups\":" + list(groups, [](const std::string& members) { return quoted(members); });
  text += ",\n\"entries\":" + list(t.ran, [](const auto& item) {
            const auto& [operation, form, root, ranks, nodes, group, bytes, algorithm] = item.first;
            const Ran& ran = item.second;
            return "{\"operation\":" + quoted(name(operation)) + ",\"form\":" + quoted(name(form)) +
                   ",\"root\":" + std::to_string(root) + ",\"size\":" + std::to_string(ranks) +
                   ",\"group\":" + std::to_string(group) + ",\"nodes\":" + std::to_string(nodes) +
                   ",\"bytes\":" + std::to_string(bytes) + ",\"algorithm\":" + quoted(algorithm) +
                   (ran.advice.empty() ? "" : ",\"model\":" + quoted(ran.advice)) +
                   ",\"volume\":" + std::to_string(ran.volume) + ",\"fastest\":" + seconds_text(ran.fastest) +
                   counted(ran.calls, ran.seconds);
          });
  text += ",\n\"passed\":" + list(t.passed, [](const auto& item) {
            const auto& [operation, form, reason] = item.first;
            return "{\"operation\":" + quoted(name(operation)) + ",\"form\":" + quoted(name(form)) +
                   ",\"reason\":" + quoted(reason) + counted(item.second.calls, item.second.seconds);
          });
  text += ",\n\"notes\":" + list(all_notes(), [](const auto& item) { return quoted(item); });
  return text + "}\n";
}

int finalize(MPI_Comm, int, void*, void*) {
  ended = true;
  record::end();
  MPI_Request idle = std::exchange(process().idle, MPI_REQUEST_NULL);
  if (idle != handles.request_null) {
    host.Cancel(&idle);
    host.Wait(&idle, MPI_STATUS_IGNORE);
  }
  if (!reporting()) return MPI_SUCCESS;
  Totals& t = totals();
  const std::lock_guard lock(t.mutex);
  for (const State* state : t.live) t.add(*state);
  write(*process().settings.stats, process().rank, to_json(t));
  return MPI_SUCCESS;
}

int no_copy(MPI_Comm, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return MPI_SUCCESS;
}

}  // namespace

int prepare_report() {
  int keyval = MPI_KEYVAL_INVALID;
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
          head(rank, size, 0) + ",\"wrong_family\":" + quoted(name(theirs)) +
              ",\"entries\":[],\"passed\":[],\"notes\":[]}\n");
  }
}

bool finalizing() { return ended; }

bool reporting() { return process().settings.stats.has_value(); }

void enlist(State& state) {
  if (!reporting() || !state.team) return;
  state.team->keep_statistics();
  const std::lock_guard lock(totals().mutex);
  totals().live.insert(&state);
}

void retire(State& state) {
  if (!reporting()) return;
  const std::lock_guard lock(totals().mutex);
  if (totals().live.erase(&state)) totals().add(state);
}

void count_passed(Operation operation, Form form, const char* reason, double seconds) {
  const std::lock_guard lock(totals().mutex);
  Passed& passed = totals().passed[{operation, form, reason}];
  ++passed.calls;
  passed.seconds += seconds;
}

}  // namespace omnes::interpose
