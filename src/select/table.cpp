// Reads decision tables.
#include "select/table.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <variant>

#include "base/spelling.hpp"
#include "topology/file.hpp"

namespace omnes::inline select {

namespace {

constexpr std::string_view compiled_in = "table";
// What a user's table may have beside operations.
constexpr std::string_view settings_key = "settings", measured_key = "measured";

/// A table as its complaints and the texts of its rules name it.
struct Source {
  std::string name;
  bool own = false;  ///< the user's: its lines are worth naming, and it need not be whole

  [[noreturn]] void refuse(const std::string& message) const { throw std::invalid_argument(name + ": " + message); }
  [[noreturn]] void refuse(const toml::node& node, const std::string& message) const {
    refuse((own ? "line " + std::to_string(node.source().begin.line) + ": " : "") + message);
  }
};

/// What a condition or `use` is given; monostate: something that none of them takes.
using Value = std::variant<std::monostate, std::int64_t, bool, std::string>;

Value value_of(const toml::node& node) {
  if (const auto number = node.value_exact<std::int64_t>()) return *number;
  if (const auto truth = node.value_exact<bool>()) return *truth;
  if (const auto text = node.value_exact<std::string>()) return *text;
  return {};
}

void take(const Value& given, std::optional<int>& value) {
  const auto* const number = std::get_if<std::int64_t>(&given);
  if (!number) throw std::invalid_argument("valid: a whole number of at least 1");
  value = parse_number(std::to_string(*number), 1, std::numeric_limits<int>::max());
}

void take(const Value& given, std::optional<std::size_t>& value) {
  const auto* const text = std::get_if<std::string>(&given);
  const auto* const number = std::get_if<std::int64_t>(&given);
  if (!text && !number) throw std::invalid_argument("valid: a number of bytes, such as 512 or \"16K\"");
  value = parse_bytes(text ? *text : std::to_string(*number));
}

void take(const Value& given, std::optional<bool>& value) {
  const auto* const truth = std::get_if<bool>(&given);
  if (!truth) throw std::invalid_argument("valid: true, false");
  value = *truth;
}

std::string text_of(int value) { return std::to_string(value); }
std::string text_of(std::size_t value) { return bytes_text(value); }
std::string text_of(bool value) { return value ? "true" : "false"; }

struct Condition {
  std::string_view name;
  std::variant<std::optional<int> Rule::*, std::optional<std::size_t> Rule::*, std::optional<bool> Rule::*> member;
};

constexpr Condition all_conditions[] = {
    {"min_ranks", &Rule::min_ranks},
    {"max_ranks", &Rule::max_ranks},
    {"min_bytes", &Rule::min_bytes},
    {"max_bytes", &Rule::max_bytes},
    {"min_nodes", &Rule::min_nodes},
    {"max_nodes", &Rule::max_nodes},
    {"min_per_node", &Rule::min_per_node},
    {"max_per_node", &Rule::max_per_node},
    {"consecutive", &Rule::consecutive},
    {"commutative", &Rule::commutative},
    {"kernel", &Rule::kernel},
    {"one_node", &Rule::one_node},
    {"shared_memory", &Rule::shared_memory},
    {"shared_heap", &Rule::shared_heap},
    {"own_cpus", &Rule::own_cpus},
    {"fast_caches", &Rule::fast_caches},
    {"machine_file", &Rule::machine_file},
};

void read_entry(Rule& rule, std::string_view key, const Value& given) {
  if (key == "use") {
    const auto* const text = std::get_if<std::string>(&given);
    if (!text) throw std::invalid_argument("valid: \"algorithm:parameters\"");
    rule.use = *text;
    return;
  }
  const auto condition = std::ranges::find(all_conditions, key, &Condition::name);
  if (condition == std::end(all_conditions)) {
    std::vector<std::string> names{"use"};
    for (const Condition& one : all_conditions) names.emplace_back(one.name);
    throw std::invalid_argument("no such entry; " + valid_names(key, names));
  }
  std::visit([&](auto member) { take(given, rule.*member); }, condition->member);
}

std::string conditions(const Rule& rule) {
  std::string text;
  for (const auto& [name, member] : all_conditions)
    std::visit(
        [&](auto of_rule) {
          if (const auto& value = rule.*of_rule)
            text += (text.empty() ? "" : ", ") + std::string(name) + " = " + text_of(*value);
        },
        member);
  return text.empty() ? "always" : text;
}

Rule read_rule(Operation operation, const toml::node& node, int number, const Source& source) {
  Rule rule{.operation = operation, .table = source.own ? source.name : std::string(compiled_in), .number = number};
  const std::string where = rule.where();
  const toml::table* entries = node.as_table();
  if (entries == nullptr) source.refuse(node, where + ": valid: { conditions, use = \"algorithm:parameters\" }");
  for (const auto& [key, value] : *entries) {
    try {
      read_entry(rule, key.str(), value_of(value));
      if (key == "use") rule.choice();  // it may be wrong
    } catch (const std::invalid_argument& error) {
      source.refuse(value, where + ", " + std::string(key.str()) + ": " + error.what());
    }
  }
  if (!entries->contains("use")) source.refuse(node, where + ": has no `use`");
  const auto check_range = [&](const auto& least, const auto& most, const std::string& of) {
    if (least && most && *least > *most)
      source.refuse(node, where + ": never fits, as min_" + of + " is above max_" + of);
  };
  check_range(rule.min_ranks, rule.max_ranks, "ranks");
  check_range(rule.min_nodes, rule.max_nodes, "nodes");
  check_range(rule.min_per_node, rule.max_per_node, "per_node");
  check_range(rule.min_bytes, rule.max_bytes, "bytes");
  return rule;
}

// The compiled-in table is known to be right, and its rules lie in a line each: to read it as all of TOML takes 30 times as
// long as this.

Value plain_value(std::string_view text) {
  if (text.starts_with('"')) return std::string(text.substr(1, text.size() - 2));
  if (text == "true" || text == "false") return text == "true";
  return std::int64_t{parse_number(text, 0, std::numeric_limits<int>::max())};
}

/// `entries`: what lies between the braces.
Rule read_plain_rule(Operation operation, std::string_view entries, int number) {
  Rule rule{.operation = operation, .table = std::string(compiled_in), .number = number};
  while (!entries.empty()) {
    const std::size_t equals = entries.find(" = "), at = equals + 3;
    const std::size_t end =
        entries[at] == '"' ? entries.find('"', at + 1) + 1 : std::min(entries.find(',', at), entries.size());
    read_entry(rule, entries.substr(0, equals), plain_value(entries.substr(at, end - at)));
    entries.remove_prefix(std::min(end + 2, entries.size()));  // ", "
  }
  return rule;
}

std::vector<Rule> read_plain_list(Operation operation, std::string_view list) {
  std::vector<Rule> rules;
  constexpr std::string_view opened = "{ ", closed = " }";
  for (std::size_t from = 0; (from = list.find(opened, from)) != list.npos;) {
    from += opened.size();
    const std::size_t to = list.find(closed, from);
    rules.push_back(read_plain_rule(operation, list.substr(from, to - from), static_cast<int>(rules.size()) + 1));
    from = to;
  }
  return rules;
}

/// The last rule has to serve what all others have left.
void check_last(const Rule& last, const Source& source) {
  const std::string which = "the last rule of " + std::string(name(last.operation));
  if (!last.unconditional()) source.refuse(which + " may have no conditions");
  const Choice choice = last.choice();
  if (!choice.algorithm) source.refuse(which + " may not leave it to the " + to_string(choice));
  const Question hardest{.operation = last.operation, .p = 3, .commutative = false, .nodes = 2};
  const std::string reason = why_not(choice, hardest, true);
  if (!reason.empty()) source.refuse(which + " has to serve everything, but " + choice.algorithm->name + ' ' + reason);
}

toml::table parsed(std::string_view text, const Source& source) {
  try {
    return toml::parse(in_ascii(text));
  } catch (const toml::parse_error& error) {
    source.refuse("line " + std::to_string(error.source().begin.line) + ": " + one_line(error.description()));
  }
}

/// The rules of an operation; `entry`: its list, or null. Of a whole table there have to be some.
void read_rules(std::vector<Rule>& rules, Operation operation, const toml::node* entry, const Source& source) {
  const toml::array* list = entry != nullptr ? entry->as_array() : nullptr;
  if (list == nullptr || (list->empty() && !source.own))
    source.refuse("no list of rules for " + std::string(name(operation)));
  int number = 0;
  for (const toml::node& node : *list) rules.push_back(read_rule(operation, node, ++number, source));
  if (!source.own) check_last(rules.back(), source);
}

std::vector<Rule> parse(std::string_view text, const Source& source) {
  const toml::table table = parsed(text, source);
  for (const auto& [key, node] : table)
    if (!operation_named(key.str()) && !(source.own && (key.str() == settings_key || key.str() == measured_key)))
      source.refuse(node, "no operation \"" + std::string(key.str()) + '"');
  std::vector<Rule> rules;
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    const toml::node* entry = table.get(name(operation));
    if (source.own && entry == nullptr) continue;
    read_rules(rules, operation, entry, source);
  }
  return rules;
}

/// What a table says from `key = [`, at the start of a line, to `]`, at the end of one; empty: nothing.
std::string_view list_of(std::string_view text, std::string_view key) {
  const std::string head = "\n" + std::string(key) + " = [";
  constexpr std::string_view end = "]\n";
  const std::size_t from = text.find(head), to = text.find(end, from);
  return from == text.npos || to == text.npos ? std::string_view() : text.substr(from, to + end.size() - from);
}

}  // namespace

Choice Rule::choice() const { return parse_wish(operation, use); }

std::string Rule::where() const { return "rule " + std::to_string(number) + " of " + std::string(name(operation)); }

std::string Rule::text() const {
  return table + (table == compiled_in ? " " : ", ") + where() + ": " + conditions(*this);
}

bool Rule::unconditional() const {
  return std::ranges::all_of(all_conditions, [this](const Condition& condition) {
    return std::visit([this](auto member) { return !(this->*member); }, condition.member);
  });
}

bool Rule::fits_at_some_size(const Question& question) const {
  return operation == question.operation && (!min_ranks || question.p >= *min_ranks) &&
         (!max_ranks || question.p <= *max_ranks) && (!min_nodes || question.nodes >= *min_nodes) &&
         (!max_nodes || question.nodes <= *max_nodes) && (!min_per_node || question.per_node() >= *min_per_node) &&
         (!max_per_node || question.per_node() <= *max_per_node) &&
         (!consecutive || question.consecutive == *consecutive) &&
         (!commutative || question.commutative == *commutative) && (!kernel || question.kernel == *kernel) &&
         (!one_node || question.one_node() == *one_node) &&
         (!shared_memory || question.shared_memory == *shared_memory) &&
         (!shared_heap || question.shared_heap == *shared_heap) && (!own_cpus || question.own_cpus == *own_cpus) &&
         (!fast_caches || question.fast_caches == *fast_caches) &&
         (!machine_file || question.machine_file == *machine_file);
}

void Question::lie_on(std::span<const std::int32_t> node, bool share) {
  nodes = std::max(1, static_cast<int>(std::set(node.begin(), node.end()).size()));
  shared_memory = share && (nodes == 1 || nodes < p);
  int runs = 1;
  for (std::size_t i = 1; i < node.size(); ++i) runs += node[i] != node[i - 1];
  consecutive = runs == nodes;
}

std::string why_not(const Choice& choice, const Question& question, bool reproducible) {
  const Problem problem{.operation = question.operation, .p = question.p, .hierarchy = question.hierarchy};
  const std::string reason = why_not(choice, problem, question.commutative);
  if (!reason.empty() || !reproducible || !reduces(question.operation) || choice.algorithm->from_left) return reason;
  return "does not combine from the left, as OMNES_REPRODUCIBLE=1 asks";
}

std::vector<Rule> parse_table(std::string_view text) { return parse(text, {"decision table"}); }

std::span<const Rule> default_rules(Operation operation) {
  // Never destroyed: collectives may run in destructors.
  static std::array<std::atomic<const std::vector<Rule>*>, operation_count> lists{};
  static std::mutex reading;
  auto& list = lists[static_cast<std::size_t>(operation)];
  if (const auto* known = list.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(reading);
  if (const auto* known = list.load(std::memory_order_relaxed)) return *known;
  auto rules = std::make_unique<std::vector<Rule>>(read_plain_list(operation, list_of(default_table, name(operation))));
  list.store(rules.get(), std::memory_order_release);
  return *rules.release();
}

std::vector<Rule> parse_own_table(std::string_view text, std::string_view file) {
  return parse(text, {std::string(file), true});
}

std::vector<TableSetting> settings_of_own_table(std::string_view text, std::string_view file) {
  const Source source{std::string(file), true};
  const toml::table table = parsed(text, source);
  const toml::node* const node = table.get(settings_key);
  if (node == nullptr) return {};
  const toml::table* const entries = node->as_table();
  if (entries == nullptr) source.refuse(*node, "settings: valid: a table, [settings]");
  std::vector<TableSetting> settings;
  for (const auto& [key, value] : *entries) {
    const auto word = value.value_exact<std::string>();
    const auto number = value.value_exact<std::int64_t>();
    if (!word && !number)
      source.refuse(value, "settings, " + std::string(key.str()) + ": valid: a number, or a word such as \"16K\"");
    const int line = static_cast<int>(value.source().begin.line);
    settings.push_back({std::string(key.str()), word ? *word : std::to_string(*number), line});
  }
  return settings;
}

}  // namespace omnes::inline select
