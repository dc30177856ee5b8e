// Each variable is one entry of a table: its name, and how its value becomes a member of Settings.
//
// Names that are not there are no errors: module systems set variables of their own for a package.
#include "select/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/spelling.hpp"
#include "select/table.hpp"
#include "topology/file.hpp"

namespace omnes::inline select {

namespace {

constexpr std::string_view prefix = "OMNES_";
constexpr std::size_t min_slot_bytes = 64;           // one line of the control block
constexpr std::size_t max_slot_bytes = 64 << 20;     // times slots and ranks: keeps a segment's size sane
constexpr int max_check_timeout = 7 * 24 * 60 * 60;  // s: a week
constexpr int max_fake_nodes = 1 << 20;
/// Where a package lies, as module systems say it.
constexpr std::string_view reserved[] = {"ROOT", "HOME", "DIR", "VERSION", "PREFIX"};

template <class Value>
Value one_of(std::string_view text, std::initializer_list<std::pair<const char*, Value>> values) {
  std::vector<std::string> words;
  for (const auto& [word, value] : values) {
    if (text == word) return value;
    words.emplace_back(word);
  }
  throw std::invalid_argument('"' + std::string(text) + "\" is not valid; " + valid_names(text, words));
}

bool flag(std::string_view text) { return one_of<bool>(text, {{"0", false}, {"1", true}}); }

std::size_t slot_size(std::string_view text) {
  const std::size_t bytes = parse_bytes(text);
  if (bytes >= min_slot_bytes && bytes <= max_slot_bytes && bytes % min_slot_bytes == 0) return bytes;
  throw std::invalid_argument('"' + std::string(text) + "\" is not valid; valid: multiples of " +
                              bytes_text(min_slot_bytes) + " up to " + bytes_text(max_slot_bytes) + " bytes");
}

std::string folder(std::string_view text) {
  if (text.empty()) throw std::invalid_argument("\"\" is not valid; valid: a folder");
  return std::string(text);
}

std::string file(std::string_view text) {
  if (text.empty()) throw std::invalid_argument("\"\" is not valid; valid: a file of nodes and their switches");
  return std::string(text);
}

OwnFile read_own(const std::string& name, const char* valid) {
  try {
    return {name, read_file(name)};
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("cannot read \"" + name + "\" (" + error.what() + "); valid: " + valid + ", or off");
  }
}

OwnFile read_machine(const std::string& name) { return read_own(name, "a machine file, as omnes measure writes"); }

std::optional<OwnFile> file_or_none(std::string_view text, OwnFile (*read)(const std::string& name)) {
  if (text == "off") return std::nullopt;
  return read(std::string(text));
}

/// The user's own file of that name, where the XDG base directory specification has it; none where there is none.
std::optional<std::string> users(const char* name) {
  const char* const configuration = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  std::string folder;
  if (configuration && *configuration == '/')  // others are not valid
    folder = configuration;
  else if (home && *home)
    folder = std::string(home) + "/.config";
  const std::string file = folder + "/omnes/" + name;
  return !folder.empty() && access(file.c_str(), F_OK) == 0 ? std::optional(file) : std::nullopt;
}

std::size_t cutoff(std::string_view text) {
  if (text == "off") return shm::never;
  try {
    return parse_bytes(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string(error.what()) + "; or off");
  }
}

struct Variable {
  const char* name;   // without the prefix
  const char* about;  // one line
  void (*read)(Settings& settings, std::string_view text);
  const char* in_table = nullptr;  // its name there, where a table may set it: what a tuning run finds out
};

using S = Settings;
using Text = std::string_view;
constexpr Variable variables[] = {
    {"ASYNC", "1: a thread moves nonblocking operations on while the program computes (default: 0)",
     [](S& s, Text text) { s.async = flag(text); }},
    {"CHECK",
     "1: ranks that disagree about a call are named; results: these are compared with the MPI's, too (default: 0)",
     [](S& s, Text text) {
       s.check = one_of<Check>(text, {{"0", Check::off}, {"1", Check::calls}, {"results", Check::results}});
     }},
    {"CHECK_TIMEOUT", "Seconds after which ranks that have not come are named (default: 30)",
     [](S& s, Text text) { s.check_timeout = parse_number(text, 1, max_check_timeout); }},
    {"DIRECT_COPY", "Size from which messages in mapped memory are read in place (default: 16K or 32K)",
     [](S& s, Text text) { s.shared_memory.direct_copy = parse_bytes(text); }, "direct_copy"},
    {"FAKE_NODES", "Pretend that the ranks of a machine lie on this number of nodes (default: 1)",
     [](S& s, Text text) { s.fake_nodes = parse_number(text, 1, max_fake_nodes); }},
    {"HEAP", "What lies in memory that ranks map: off, alloc_mem, auto, shared (default: auto)",
     [](S& s, Text text) {
       s.heap = one_of<HeapUse>(text, {{"off", HeapUse::off},
                                       {"alloc_mem", HeapUse::alloc_mem},
                                       {"auto", HeapUse::automatic},
                                       {"shared", HeapUse::shared}});
     }},
    {"LEVELS", "The levels of the machine that algorithms know of, such as numa,node (default: all)",
     [](S& s, Text text) { s.levels = parse_levels(text); }},
    {"MACHINE", "File of what messages cost; off (default: ~/.config/omnes/machine.toml)",
     [](S& s, Text text) {
       s.machine = file_or_none(text, read_machine);
       s.machine_is_named = true;
     }},
    {"NOTICES", "Folder where ranks say that the library is not for the program's MPI (default: none)",
     [](S&, Text text) { folder(text); }},  // read where nothing else is: see report_wrong_family()
    {"OFF", "1: everything is left to the MPI (default: 0)", [](S& s, Text text) { s.off = flag(text); }},
    {"RECORD", "Folder where each rank writes at the end of the job which calls it made (default: none)",
     [](S& s, Text text) { s.record = folder(text); }},
    {"REMAP", "Whether ranks are renumbered: off, exch, reorder, auto (default: auto)",
     [](S& s, Text text) {
       s.remap = one_of<Remap>(
           text,
           {{"off", Remap::off}, {"exch", Remap::exchange}, {"reorder", Remap::reorder}, {"auto", Remap::automatic}});
     }},
    {"REPRODUCIBLE", "1: reductions give the same bits wherever ranks lie and whatever the size (default: 0)",
     [](S& s, Text text) { s.reproducible = flag(text); }},
    {"SINGLE_COPY", "Size from which other messages are read by a system call; off (default: 96K or off)",
     [](S& s, Text text) { s.shared_memory.single_copy = cutoff(text); }, "single_copy"},
    {"SLOTS", "Number of slots of a rank's queue of short messages (default: by ranks)",
     [](S& s, Text text) { s.shared_memory.slots = parse_number(text, shm::min_slots, shm::max_slots); }, "slots"},
    {"SLOT_BYTES", "Size of such a slot (default: 32K)",
     [](S& s, Text text) { s.shared_memory.slot_bytes = slot_size(text); }, "slot_bytes"},
    {"STATS", "Folder where each rank writes at the end of the job what ran (default: none)",
     [](S& s, Text text) { s.stats = folder(text); }},
    {"STATS_SITES", "1: with stats, also where calls are made (default: 0)",
     [](S& s, Text text) { s.call_sites = flag(text); }},
    {"TABLE", "File of rules before the compiled-in ones; off (default: ~/.config/omnes/table.toml)",
     [](S& s, Text text) { s.table = file_or_none(text, read_table); }},
    {"TOPOLOGY", "File of the network's switches (default: Slurm's)", [](S& s, Text text) { s.topology = file(text); }},
    {"TRANSPORT", "auto, or mpi: no shared memory, all data go by point-to-point messages (default: auto)",
     [](S& s, Text text) {
       s.transport = one_of<Transport>(text, {{"auto", Transport::automatic}, {"mpi", Transport::mpi}});
     }},
    {"WAIT", "How ranks wait: spin, yield, auto (default: auto)",
     [](S& s, Text text) {
       s.wait = one_of<Wait>(text, {{"auto", Wait::automatic}, {"spin", Wait::spin}, {"yield", Wait::yield}});
     }},
};

/// Without the prefix.
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Setting& setting : all_settings()) names.push_back(setting.variable.substr(prefix.size()));
  return names;
}

std::string ignored(std::string_view name) {
  constexpr std::size_t longest = 64;  // letters; of no known name
  std::string capitals, shown;
  for (const char c : name.substr(0, longest)) {
    capitals += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    shown += c > ' ' && c <= '~' ? c : '?';
  }
  const std::vector<std::string> names = all_names();
  const std::string* const meant = nearest(std::string_view(capitals).substr(prefix.size()), names);
  return shown + " is ignored: there is no such variable" +
         (meant ? "; did you mean " + std::string(prefix) + *meant + "?" : "");
}

void read_variable(Settings& settings, std::string_view name, std::string_view text) {
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    for (const bool blocking : {true, false}) {
      if (name != variable_of(operation, blocking)) continue;
      (blocking ? settings.forced : settings.forced_not_blocking)[i] = parse_wish(operation, text, blocking);
      return;
    }
  }
  const auto own = name.substr(prefix.size());
  const auto* variable = std::find_if(std::begin(variables), std::end(variables),
                                      [&](const Variable& candidate) { return own == candidate.name; });
  if (variable != std::end(variables))
    variable->read(settings, text);
  else if (std::ranges::find(reserved, own) == std::end(reserved))
    settings.ignored.push_back(ignored(name));
}

/// What the table sets, except what the environment does.
void read_settings_of_table(Settings& settings, const std::set<std::string_view>& given) {
  const OwnFile& table = *settings.table;
  for (const TableSetting& setting : settings_of_own_table(table.text, table.name)) {
    const auto refuse = [&](const std::string& message) {
      throw std::invalid_argument(table.name + ": line " + std::to_string(setting.line) + ": settings, " +
                                  setting.name + ": " + message);
    };
    const auto* variable = std::find_if(std::begin(variables), std::end(variables), [&](const Variable& candidate) {
      return candidate.in_table && setting.name == candidate.in_table;
    });
    if (variable == std::end(variables)) {
      std::vector<std::string> names;
      for (const Variable& one : variables)
        if (one.in_table) names.emplace_back(one.in_table);
      refuse("no such entry; " + valid_names(setting.name, names));
    }
    if (given.contains(variable->name)) continue;
    try {
      variable->read(settings, setting.text);
    } catch (const std::invalid_argument& error) {
      refuse(error.what());
    }
  }
}

/// Also a table and a machine where none is named: their files, if any.
Settings read(const char* const* variables, const std::optional<std::string>& own_table,
              const std::optional<std::string>& own_machine) {
  Settings settings;
  std::set<std::string_view> given;  // without the prefix
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const std::size_t equals = variable.find('=');
    if (!variable.starts_with(prefix) || equals == variable.npos) continue;
    const std::string_view name = variable.substr(0, equals);
    try {
      read_variable(settings, name, variable.substr(equals + 1));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string(name) + ": " + one_line(error.what()));
    }
    given.insert(name.substr(prefix.size()));
  }
  if (own_table && !given.contains("TABLE")) settings.table = read_table(*own_table);
  if (own_machine && !settings.machine_is_named) settings.machine = read_machine(*own_machine);
  if (settings.table) read_settings_of_table(settings, given);
  return settings;
}

}  // namespace

bool is_setting(std::string_view name) {
  const std::vector<std::string> names = all_names();
  return name.starts_with(prefix) && std::ranges::find(names, name.substr(prefix.size())) != names.end();
}

std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  for (const Variable& variable : variables) all.push_back({std::string(prefix) + variable.name, variable.about});
  for (const bool blocking : {true, false})
    for (int i = 0; i < operation_count; ++i) {
      const auto operation = static_cast<Operation>(i);
      all.push_back({variable_of(operation, blocking),
                     "Algorithm of " + std::string(name(operation)) + (blocking ? "" : " where it does not block") +
                         ", such as knomial:k=4; omnes list names them (default: by table and model)"});
    }
  return all;
}

std::string variable_of(Operation operation, bool blocking) {
  std::string variable(prefix);
  if (!blocking) variable += 'I';
  for (const char letter : name(operation)) variable += letter == '_' ? '_' : static_cast<char>(letter - 'a' + 'A');
  return variable;
}

Settings Settings::from(const char* const* variables) { return read(variables, {}, {}); }

Settings Settings::from_environment() { return read(environ, users("table.toml"), users("machine.toml")); }

OwnFile read_table(const std::string& name) { return read_own(name, "a file of rules, as omnes tune writes"); }

}  // namespace omnes::inline select
