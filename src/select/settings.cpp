// Each variable is one entry of a table: its name, and how its value becomes a member of Settings.
#include "select/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace omnes {

namespace {

constexpr std::string_view prefix = "OMNES_";
constexpr int fewest_slots = 2, most_slots = 64;
constexpr std::size_t fewest_slot_bytes = 64;      // one line of the control block
constexpr std::size_t most_slot_bytes = 64 << 20;  // times slots and ranks: keeps a segment's size sane
constexpr int most_fake_nodes = 1 << 20;

template <class Value>
Value one_of(std::string_view text, std::initializer_list<std::pair<const char*, Value>> values) {
  std::string valid;
  for (const auto& [word, value] : values) {
    if (text == word) return value;
    valid += (valid.empty() ? "" : ", ") + std::string(word);
  }
  throw std::invalid_argument('"' + std::string(text) + "\" is not valid; valid: " + valid);
}

bool flag(std::string_view text) { return one_of<bool>(text, {{"0", false}, {"1", true}}); }

std::size_t slot_size(std::string_view text) {
  const std::size_t bytes = parse_bytes(text);
  if (bytes >= fewest_slot_bytes && bytes <= most_slot_bytes && bytes % fewest_slot_bytes == 0) return bytes;
  throw std::invalid_argument('"' + std::string(text) + "\" is not valid; valid: multiples of " +
                              bytes_text(fewest_slot_bytes) + " up to " + bytes_text(most_slot_bytes) + " bytes");
}

std::string folder(std::string_view text) {
  if (text.empty()) throw std::invalid_argument("\"\" is not valid; valid: a folder");
  return std::string(text);
}

std::string file(std::string_view text) {
  if (text.empty()) throw std::invalid_argument("\"\" is not valid; valid: a file of nodes and their switches");
  return std::string(text);
}

std::optional<TableFile> table_or_none(std::string_view text) {
  if (text == "off") return std::nullopt;
  return read_table(std::string(text));
}

/// Where the XDG base directory specification has it; empty where there is no such folder.
std::string users_table() {
  constexpr const char* within = "/omnes/table.toml";
  const char* const configuration = std::getenv("XDG_CONFIG_HOME");
  if (configuration && *configuration == '/') return std::string(configuration) + within;  // others are not valid
  const char* const home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.config" + within : std::string();
}

std::optional<std::size_t> single_copy_from(std::string_view text) {
  if (text == "off") return std::nullopt;
  try {
    return parse_bytes(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string(error.what()) + "; or off");
  }
}

struct Variable {
  const char* name;  // without the prefix
  void (*read)(Settings& settings, std::string_view text);
};

using S = Settings;
using Text = std::string_view;
constexpr Variable variables[] = {
    {"ASYNC", [](S& s, Text text) { s.async = flag(text); }},
    {"DIRECT_COPY", [](S& s, Text text) { s.direct_copy = parse_bytes(text); }},
    {"FAKE_NODES", [](S& s, Text text) { s.fake_nodes = parse_number(text, 1, most_fake_nodes); }},
    {"HEAP",
     [](S& s, Text text) {
       s.heap = one_of<HeapUse>(
           text, {{"off", HeapUse::off}, {"alloc_mem", HeapUse::alloc_mem}, {"shared", HeapUse::shared}});
     }},
    {"LEVELS", [](S& s, Text text) { s.levels = parse_levels(text); }},
    {"OFF", [](S& s, Text text) { s.off = flag(text); }},
    {"REMAP",
     [](S& s, Text text) {
       s.remap = one_of<Remap>(
           text,
           {{"off", Remap::off}, {"exch", Remap::exchange}, {"reorder", Remap::reorder}, {"auto", Remap::automatic}});
     }},
    {"REPRODUCIBLE", [](S& s, Text text) { s.reproducible = flag(text); }},
    {"SINGLE_COPY", [](S& s, Text text) { s.single_copy = single_copy_from(text); }},
    {"SLOTS", [](S& s, Text text) { s.slots = parse_number(text, fewest_slots, most_slots); }},
    {"SLOT_BYTES", [](S& s, Text text) { s.slot_bytes = slot_size(text); }},
    {"STATS", [](S& s, Text text) { s.stats = folder(text); }},
    {"TABLE", [](S& s, Text text) { s.table = table_or_none(text); }},
    {"TOPOLOGY", [](S& s, Text text) { s.topology = file(text); }},
    {"TRANSPORT",
     [](S& s, Text text) {
       s.transport = one_of<Transport>(text, {{"auto", Transport::automatic}, {"mpi", Transport::mpi}});
     }},
    {"WAIT",
     [](S& s, Text text) {
       s.wait = one_of<Wait>(text, {{"auto", Wait::automatic}, {"spin", Wait::spin}, {"yield", Wait::yield}});
     }},
};

std::string known_variables() {
  std::string known;
  for (const Variable& variable : variables) known += std::string(prefix) + variable.name + ", ";
  known += "and OMNES_ or OMNES_I with ";
  for (int i = 0; i < operation_count; ++i)
    known += (i > 0 ? ", " : "") + variable_of(static_cast<Operation>(i)).substr(prefix.size());
  return known;
}

void read_variable(Settings& settings, std::string_view name, std::string_view text) {
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    for (const bool blocking : {true, false}) {
      if (name != variable_of(operation, blocking)) continue;
      (blocking ? settings.forced : settings.forced_not_blocking)[i] = parse_choice(operation, text);
      return;
    }
  }
  const auto own = name.substr(prefix.size());
  const auto* variable = std::find_if(std::begin(variables), std::end(variables),
                                      [&](const Variable& candidate) { return own == candidate.name; });
  if (variable == std::end(variables)) throw std::invalid_argument("no such variable; known: " + known_variables());
  variable->read(settings, text);
}

}  // namespace

std::string variable_of(Operation operation, bool blocking) {
  std::string variable(prefix);
  if (!blocking) variable += 'I';
  for (const char letter : name(operation)) variable += letter == '_' ? '_' : static_cast<char>(letter - 'a' + 'A');
  return variable;
}

Settings Settings::from(const char* const* variables) {
  Settings settings;
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const std::size_t equals = variable.find('=');
    if (!variable.starts_with(prefix) || equals == variable.npos) continue;
    const std::string_view name = variable.substr(0, equals);
    try {
      read_variable(settings, name, variable.substr(equals + 1));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string(name) + ": " + error.what());
    }
  }
  return settings;
}

Settings Settings::from_environment() {
  Settings settings = from(environ);
  const std::string own = users_table();
  if (!std::getenv("OMNES_TABLE") && !own.empty() && access(own.c_str(), F_OK) == 0) settings.table = read_table(own);
  return settings;
}

TableFile read_table(const std::string& name) {
  errno = 0;
  std::ifstream file(name);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw std::invalid_argument("cannot read \"" + name + "\" (" + std::strerror(errno != 0 ? errno : EIO) +
                                "); valid: a file of rules, as omnes tune writes, or off");
  return {name, text.str()};
}

}  // namespace omnes
