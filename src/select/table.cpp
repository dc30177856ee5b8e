// Reads the decision table.
#include "select/table.hpp"

#include <toml++/toml.h>

#include <stdexcept>

namespace omnes {

namespace {

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument("decision table: " + message); }

/// One entry of a rule: its value if it is of the wanted type.
template <class Value>
Value take(const toml::node& node, const char* wanted) {
  if (const auto value = node.value_exact<Value>()) return *value;
  throw std::invalid_argument("valid: " + std::string(wanted));
}

std::size_t take_bytes(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return parse_bytes(*text);
  return parse_bytes(std::to_string(take<std::int64_t>(node, "a number of bytes, such as 512 or \"16K\"")));
}

int take_number(const toml::node& node, const char* wanted) {
  return parse_number(std::to_string(take<std::int64_t>(node, wanted)), 1, std::numeric_limits<int>::max());
}

void read_entry(Rule& rule, std::string_view key, const toml::node& node) {
  if (key == "use")
    rule.choice = parse_choice(rule.operation, take<std::string>(node, "\"algorithm:parameters\""));
  else if (key == "max_ranks")
    rule.max_ranks = take_number(node, "a number of ranks");
  else if (key == "max_nodes")
    rule.max_nodes = take_number(node, "a number of nodes");
  else if (key == "max_bytes")
    rule.max_bytes = take_bytes(node);
  else if (key == "commutative")
    rule.commutative = take<bool>(node, "true, false");
  else if (key == "one_node")
    rule.one_node = take<bool>(node, "true, false");
  else if (key == "shared_memory")
    rule.shared_memory = take<bool>(node, "true, false");
  else if (key == "shared_heap")
    rule.shared_heap = take<bool>(node, "true, false");
  else
    throw std::invalid_argument(
        "no such entry; valid: use, max_ranks, max_nodes, max_bytes, commutative, one_node, shared_memory, "
        "shared_heap");
}

std::string conditions(const Rule& rule) {
  std::string text;
  const auto add = [&](const std::string& condition) { text += (text.empty() ? "" : ", ") + condition; };
  const auto word = [](bool value) { return value ? std::string("true") : std::string("false"); };
  if (rule.max_ranks) add("max_ranks = " + std::to_string(*rule.max_ranks));
  if (rule.max_nodes) add("max_nodes = " + std::to_string(*rule.max_nodes));
  if (rule.max_bytes) add("max_bytes = " + bytes_text(*rule.max_bytes));
  if (rule.commutative) add("commutative = " + word(*rule.commutative));
  if (rule.one_node) add("one_node = " + word(*rule.one_node));
  if (rule.shared_memory) add("shared_memory = " + word(*rule.shared_memory));
  if (rule.shared_heap) add("shared_heap = " + word(*rule.shared_heap));
  return text.empty() ? "always" : text;
}

Rule read_rule(Operation operation, const toml::node& node, const std::string& where) {
  const toml::table* entries = node.as_table();
  if (entries == nullptr) refuse(where + ": valid: { conditions, use = \"algorithm:parameters\" }");
  Rule rule;
  rule.operation = operation;
  for (const auto& [key, value] : *entries) {
    try {
      read_entry(rule, key.str(), value);
    } catch (const std::invalid_argument& error) {
      refuse(where + ", " + std::string(key.str()) + ": " + error.what());
    }
  }
  if (rule.choice.algorithm == nullptr) refuse(where + ": has no `use`");
  rule.text = "table " + where + ": " + conditions(rule);
  return rule;
}

/// The last rule has to serve what all others have left.
void check_last(const Rule& last) {
  const std::string which = "the last rule of " + std::string(name(last.operation));
  if (!last.unconditional()) refuse(which + " may have no conditions");
  const Question hardest{.operation = last.operation, .p = 3, .commutative = false, .nodes = 2};
  const std::string reason = why_not(last.choice, hardest, true);
  if (!reason.empty()) refuse(which + " has to serve everything, but " + last.choice.algorithm->name + ' ' + reason);
}

}  // namespace

bool Rule::fits(const Question& question) const {
  return operation == question.operation && (!max_ranks || question.p <= *max_ranks) &&
         (!max_bytes || question.bytes <= *max_bytes) && (!commutative || question.commutative == *commutative) &&
         (!max_nodes || question.nodes <= *max_nodes) && (!one_node || question.one_node() == *one_node) &&
         (!shared_memory || question.shared_memory == *shared_memory) &&
         (!shared_heap || question.shared_heap == *shared_heap);
}

std::string why_not(const Choice& choice, const Question& question, bool reproducible) {
  const Problem problem{.operation = question.operation, .p = question.p, .hierarchy = question.hierarchy};
  const std::string reason = why_not(choice, problem, question.commutative);
  if (!reason.empty() || !reproducible || !reduces(question.operation) || choice.algorithm->from_left) return reason;
  return "does not combine from the left, as OMNES_REPRODUCIBLE=1 asks";
}

std::vector<Rule> parse_table(std::string_view text) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    refuse("line " + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
  std::vector<Rule> rules;
  for (const auto& [key, node] : table)
    if (!operation_named(key.str())) refuse("no operation \"" + std::string(key.str()) + '"');
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    const toml::array* list = table[name(operation)].as_array();
    if (list == nullptr || list->empty()) refuse("no list of rules for " + std::string(name(operation)));
    int number = 0;
    for (const toml::node& node : *list)
      rules.push_back(
          read_rule(operation, node, "rule " + std::to_string(++number) + " of " + std::string(name(operation))));
    check_last(rules.back());
  }
  return rules;
}

}  // namespace omnes
