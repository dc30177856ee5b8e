// Reads the file that describes a machine.
#include "model/machine_costs.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "base/spelling.hpp"
#include "topology/file.hpp"
#include "topology/limits.hpp"

namespace omnes::model {

namespace {

constexpr std::int64_t version = 1;

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument("machine file: " + message); }

double number(const toml::node& node, const std::string& where) {
  const auto value = node.value<double>();
  if (!node.is_number() || !(*value >= 0)) refuse(where + ": valid: a number, 0 or more");
  return *value;
}

std::string text(const toml::node& node, const std::string& where) {
  if (const auto value = node.value_exact<std::string>()) return *value;
  refuse(where + ": valid: a text in quotes");
}

Curve curve(const toml::node& node, const std::string& where) {
  const toml::array* rows = node.as_array();
  const std::string valid = where + ": valid: [[from, alpha, beta], ...] with `from` 0 in the first and ascending";
  if (rows == nullptr || rows->empty()) refuse(valid);
  Curve result;
  for (const toml::node& row : *rows) {
    const toml::array* fields = row.as_array();
    if (fields == nullptr || fields->size() != 3) refuse(valid);
    const auto at = [&](std::size_t i) {
      const auto value = (*fields)[i].value<double>();
      if (!(*fields)[i].is_number()) refuse(valid);
      return *value;
    };
    result.pieces.push_back({at(0), at(1), at(2)});
    const std::size_t n = result.pieces.size();
    if (n == 1 ? result.pieces[0].from != 0 : result.pieces[n - 1].from <= result.pieces[n - 2].from) refuse(valid);
  }
  return result;
}

using Reader = std::function<void(const toml::node& node, const std::string& where)>;
using Readers = std::map<std::string, Reader, std::less<>>;

Reader into(double& value) {
  return [&value](const toml::node& node, const std::string& where) { value = number(node, where); };
}
Reader into(std::string& value) {
  return [&value](const toml::node& node, const std::string& where) { value = text(node, where); };
}
Reader into(Curve& value) {
  return [&value](const toml::node& node, const std::string& where) { value = curve(node, where); };
}

void read(const toml::table& table, const std::string& where, const Readers& readers) {
  for (const auto& [key, node] : table) {
    const auto reader = readers.find(key.str());
    if (reader == readers.end()) {
      std::vector<std::string> names;
      for (const auto& [name, unused] : readers) names.push_back(name);
      refuse("no such entry: " + where + std::string(key.str()) + "; " + valid_names(key.str(), names));
    }
    reader->second(node, where + std::string(key.str()));
  }
}

LevelCosts read_level(const toml::node& node, std::size_t place) {
  const std::string where = "level " + std::to_string(place);
  const toml::table* table = node.as_table();
  if (table == nullptr) refuse(where + ": valid: a [[level]] table");
  LevelCosts level;
  std::string by;
  read(*table, where + " ",
       {{"name", into(level.name)},
        {"by", into(by)},
        {"send", into(level.send)},
        {"recv", into(level.recv)},
        {"latency", into(level.latency)},
        {"shared", into(level.shared)},
        {"out", into(level.out)},
        {"wire", into(level.wire)},
        {"exchange", into(level.exchange)},
        {"exchange_latency", into(level.exchange_latency)},
        {"synchronous_from", into(level.synchronous_from)},
        {"held", into(level.held)},
        {"copy", into(level.copy)},
        {"copy_in", into(level.copy_in)},
        {"fragment", into(level.fragment)},
        {"single_from", into(level.single_from)},
        {"single", into(level.single)},
        {"single_publish", into(level.single_publish)},
        {"single_reduce", into(level.single_reduce)}});
  if (level.name.empty()) refuse(where + " has no name");
  if (by != "memory" && by != "messages") refuse(where + " by: valid: \"memory\", \"messages\"");
  level.memory = by == "memory";
  if (level.memory ? level.copy.pieces.empty() : level.wire.pieces.empty())
    refuse(where + (level.memory ? " has no copy" : " has no wire"));
  if (level.fragment < 1) refuse(where + " fragment: valid: bytes, 1 or more");
  if (level.exchange < 1) refuse(where + " exchange: valid: a factor, 1 or more");
  if (level.copy_in.pieces.empty()) level.copy_in = level.copy;
  if (level.single.pieces.empty()) level.single_from = never;
  if (level.single_publish.pieces.empty()) level.single_publish = level.single;
  if (level.single_reduce.pieces.empty()) level.single_reduce = level.single;
  return level;
}

}  // namespace

MachineCosts parse_machine(std::string_view source) {
  toml::table table;
  try {
    table = toml::parse(in_ascii(source));
  } catch (const toml::parse_error& error) {
    refuse("line " + std::to_string(error.source().begin.line) + ": " + one_line(error.description()));
  }
  if (table["format"].value<std::string>() != "omnes machine") refuse("does not say format = \"omnes machine\"");
  if (table["version"].value_exact<std::int64_t>() != version) refuse("version: valid: " + std::to_string(version));
  MachineCosts machine;
  double ranks_per_node = 1;
  const Reader ignored = [](const toml::node&, const std::string&) {};
  const Reader reductions = [&](const toml::node& node, const std::string& where) {
    if (!node.is_table()) refuse(where + ": valid: a table of curves");
    for (const auto& [key, value] : *node.as_table())
      machine.reduce[std::string(key.str())] = curve(value, where + ' ' + std::string(key.str()));
  };
  const Reader levels = [&](const toml::node& node, const std::string& where) {
    if (!node.is_array()) refuse(where + ": valid: [[level]] tables");
    for (const toml::node& level : *node.as_array())
      machine.levels.push_back(read_level(level, machine.levels.size() + 1));
  };
  read(table, "",
       {{"format", ignored},
        {"version", ignored},
        {"measured", ignored},
        {"name", into(machine.name)},
        {"source", into(machine.source)},
        {"ranks_per_node", into(ranks_per_node)},
        {"call", into(machine.call)},
        {"step", into(machine.step)},
        {"copy", into(machine.copy)},
        {"reduce", reductions},
        {"level", levels}});
  if (!(ranks_per_node >= 1 && ranks_per_node <= max_described))
    refuse("ranks_per_node: valid: 1 to " + std::to_string(max_described));
  machine.ranks_per_node = static_cast<int>(ranks_per_node);
  if (machine.levels.empty() || machine.levels.back().name != "network") refuse("the last level is to be \"network\"");
  if (!machine.reduce.contains("f64 sum")) refuse("reduce has no \"f64 sum\"");
  return machine;
}

std::shared_ptr<const MachineCosts> known_default() {
  static const auto& known = *new auto(std::make_shared<const MachineCosts>(parse_machine(default_machine)));  // stays
  return known;
}

}  // namespace omnes::model
