// Reading and writing choices, and the numbers in them.
#include "select/choice.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <stdexcept>

#include "base/spelling.hpp"
#include "schedule/hierarchy.hpp"
#include "topology/file.hpp"

namespace omnes::inline select {

namespace {

/// More segments would only lengthen schedules: a pipeline this long is full nearly all of its time.
constexpr std::size_t max_segments = 256;
/// Many algorithms list an op or a few for each segment and rank: this keeps a schedule below 100 MB.
constexpr std::size_t max_segments_of_all_ranks = 1 << 18;

struct Unit {
  char letter;
  std::size_t bytes;
};
constexpr std::string_view by_model = "model", by_host = "host";
/// Beside an algorithm's own radix and no segments: of trees and digits what machines prefer, and enough segments to fill
/// a pipeline of a few ranks.
constexpr std::array<int, 2> radices_tried = {4, 8};
constexpr std::array<std::size_t, 3> segments_tried = {8192, 32768, 65536};
constexpr std::array<Unit, 3> units = {{{'G', 1 << 30}, {'M', 1 << 20}, {'K', 1 << 10}}};

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument(message); }

std::string quoted(std::string_view text) { return '"' + one_line(text) + '"'; }

template <class Integer>
bool read_integer(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// besides: what else would have been valid.
Choice named(Operation operation, std::string_view wanted, std::span<const std::string_view> besides) {
  if (const Algorithm* algorithm = find_algorithm(operation, wanted)) return {.algorithm = algorithm};
  if (const Alias* alias = find_alias(operation, wanted))
    return {.algorithm = find_algorithm(operation, alias->algorithm), .radix = alias->radix};
  std::vector<std::string> names, aliases;
  for (const Algorithm* algorithm : catalogue()) {
    if (algorithm->operation != operation) continue;
    names.emplace_back(algorithm->name);
    for (const Alias* alias : aliases_of(*algorithm)) aliases.emplace_back(alias->name);
  }
  names.insert(names.end(), besides.begin(), besides.end());
  refuse("no algorithm " + quoted(wanted) + " for " + std::string(name(operation)) + "; " +
         valid_names(wanted, names, aliases));
}

/// "core=NAME[:k=N], l2=..., l3=..."
std::string valid_levels() {
  std::string valid;
  for (const char* level : names_of_levels) valid += std::string(valid.empty() ? "" : ", ") + level + "=...";
  return "LEVEL=NAME[:k=N] (" + valid + ")";
}

/// The algorithms that may be named for a level: those of the operations that are composed, with equal or unequal parts.
std::vector<const Algorithm*> at_levels(const Algorithm& composing) {
  std::vector<const Algorithm*> all;
  for (const Algorithm* one : catalogue()) {
    const Phases& phases = *composing.hierarchical;
    const bool composed = std::ranges::any_of(std::array{phases.up, phases.top, phases.down},
                                              [&](auto phase) { return phase && *phase == regular(one->operation); });
    if (composed && !one->hierarchical && one->operation != Operation::alltoallw) all.push_back(one);
  }
  return all;
}

/// LEVEL=NAME[:k=N], of which `text` is what follows the equals sign.
LevelAlgorithm read_level(const Algorithm& composing, std::string_view level, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view wanted = text.substr(0, colon);
  LevelAlgorithm read{std::string(level), std::string(wanted)};
  const Algorithm* with_radix = nullptr;
  bool known = false;
  const std::vector<const Algorithm*> valid = at_levels(composing);
  for (const Algorithm* one : valid) {
    const Alias* alias = find_alias(one->operation, wanted);
    if (wanted != one->name && (!alias || one->name != std::string_view(alias->algorithm))) continue;
    known = true;
    if (one->default_radix > 0 && (!alias || alias->radix == 0)) with_radix = one;
  }
  if (!known) {
    std::set<std::string> sorted;
    for (const Algorithm* one : valid) sorted.insert(one->name);
    refuse("no algorithm " + quoted(wanted) + " for the levels of " + std::string(name(composing.operation)) + "/" +
           composing.name + "; " + valid_names(wanted, {sorted.begin(), sorted.end()}));
  }
  if (colon == text.npos) return read;
  const std::string_view parameter = text.substr(colon + 1);
  if (!with_radix || !parameter.starts_with("k="))
    refuse("level " + std::string(level) + ": " + std::string(wanted) + " has no parameter " +
           quoted(parameter.substr(0, parameter.find('='))) + "; valid: " + (with_radix ? "k=N" : "none"));
  read.radix = parse_number(parameter.substr(2), with_radix->min_radix, std::numeric_limits<int>::max());
  return read;
}

std::string parameters_of(const Algorithm& algorithm) {
  std::string valid;
  if (algorithm.default_radix > 0) valid = "k=N";
  if (algorithm.segmented) valid += valid.empty() ? "segment=BYTES" : ", segment=BYTES";
  if (algorithm.hierarchical) valid += (valid.empty() ? "" : ", ") + valid_levels();
  return valid.empty() ? "none" : valid;
}

/// `alias_radix`: what the name has said of k already; 0: nothing.
void read_parameter(Choice& choice, std::string_view text, int alias_radix) {
  const Algorithm& algorithm = *choice.algorithm;
  const std::size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  const std::string_view value = equals == text.npos ? std::string_view() : text.substr(equals + 1);
  if (key == "k" && algorithm.default_radix > 0) {
    const int radix = parse_number(value, algorithm.min_radix, std::numeric_limits<int>::max());
    if (alias_radix != 0 && radix != alias_radix)
      refuse("k=" + std::string(value) + " contradicts the name, which means " + algorithm.name +
             ":k=" + std::to_string(alias_radix));
    choice.radix = radix;
  } else if (key == "segment" && algorithm.segmented) {
    choice.segment = parse_bytes(value);
    if (choice.segment == 0) refuse("segment=0: segments need at least 1 byte");
  } else if (algorithm.hierarchical && std::ranges::find(names_of_levels, key) != names_of_levels.end()) {
    if (std::ranges::find(choice.levels, key, &LevelAlgorithm::level) != choice.levels.end())
      refuse("level " + std::string(key) + " is named twice");
    choice.levels.push_back(read_level(algorithm, key, value));
  } else {
    refuse(std::string(name(algorithm.operation)) + " algorithm " + algorithm.name + " has no parameter " +
           quoted(key) + "; valid: " + parameters_of(algorithm));
  }
}

Choice parse(Operation operation, std::string_view text, std::span<const std::string_view> besides) {
  const std::size_t colon = text.find(':');
  Choice choice = named(operation, text.substr(0, colon), besides);
  const int alias_radix = choice.radix;
  for (std::size_t at = colon; at != text.npos;) {
    const std::size_t first = at + 1;
    at = text.find_first_of(choice.algorithm->hierarchical ? "," : ":,", first);
    read_parameter(choice, text.substr(first, at - first), alias_radix);
  }
  return choice;
}

}  // namespace

int parse_number(std::string_view text, int lowest, int highest) {
  int value = 0;
  if (read_integer(text, value) && value >= lowest && value <= highest) return value;
  const std::string range = highest == std::numeric_limits<int>::max()
                                ? "of at least " + std::to_string(lowest)
                                : std::to_string(lowest) + " to " + std::to_string(highest);
  refuse(quoted(text) + " is not valid; valid: a whole number " + range);
}

std::size_t parse_bytes(std::string_view text) {
  std::string_view digits = text;
  std::size_t unit = 1;
  for (const auto& [letter, bytes] : units) {
    if (digits.empty() || (digits.back() != letter && digits.back() != letter - 'A' + 'a')) continue;
    unit = bytes;
    digits.remove_suffix(1);
    break;
  }
  std::size_t value = 0;
  if (read_integer(digits, value) && value <= std::numeric_limits<std::size_t>::max() / unit) return value * unit;
  refuse(quoted(text) + " is not a number of bytes; valid: digits, and K, M or G for their powers of 1024");
}

std::string bytes_text(std::size_t bytes) {
  for (const auto& [letter, unit] : units)
    if (bytes >= unit && bytes % unit == 0) return std::to_string(bytes / unit) + letter;
  return std::to_string(bytes);
}

Choice parse_choice(Operation operation, std::string_view text) { return parse(operation, text, {}); }

Choice parse_wish(Operation operation, std::string_view text, bool blocking) {
  if (text == by_model) return {};
  if (text == by_host && blocking) return {.host = true};
  constexpr std::array besides = {by_model, by_host};
  return parse(operation, text, std::span(besides).first(blocking ? 2 : 1));
}

std::vector<Choice> candidates(Operation operation, std::size_t part_bytes) {
  std::vector<Choice> found;
  for (const Algorithm* one : catalogue()) {
    if (one->operation != operation) continue;
    found.push_back({.algorithm = one});
    for (const int radix : radices_tried)
      if (one->default_radix > 0 && !one->root_radix && radix != one->default_radix && radix >= one->min_radix)
        found.push_back({.algorithm = one, .radix = radix});
    for (const std::size_t segment : segments_tried)
      if (one->segmented && 2 * segment <= part_bytes) found.push_back({.algorithm = one, .segment = segment});
  }
  return found;
}

std::string to_string(const Choice& choice) {
  if (!choice.algorithm) return std::string(choice.host ? by_host : by_model);
  std::string text;
  const auto add = [&](const std::string& parameter) { text += (text.empty() ? ":" : ",") + parameter; };
  if (choice.radix != 0) add("k=" + std::to_string(choice.radix));
  for (const auto& [level, algorithm, radix] : choice.levels)
    add(level + "=" + algorithm + (radix != 0 ? ":k=" + std::to_string(radix) : ""));
  if (choice.segment != 0) add("segment=" + bytes_text(choice.segment));
  return choice.algorithm->name + text;
}

std::string why_not(const Choice& choice, Problem problem, bool commutative) {
  problem.radix = choice.radix;
  problem.composition = choice.levels;
  return why_not(*choice.algorithm, problem, commutative);
}

bool ByteRange::narrow(const ByteRange& other, std::size_t bytes) {
  if (bytes < other.from) {
    to = std::min(to, other.from - 1);
  } else if (bytes > other.to) {
    from = std::max(from, other.to + 1);
  } else {
    from = std::max(from, other.from);
    to = std::min(to, other.to);
    return true;
  }
  return false;
}

int segments_for(const Choice& choice, int p, std::size_t bytes) {
  if (choice.segment == 0 || bytes <= choice.segment) return 1;
  const std::size_t most = std::max<std::size_t>(max_segments_of_all_ranks / static_cast<std::size_t>(p), 1);
  return static_cast<int>(std::min({(bytes - 1) / choice.segment + 1, max_segments, most}));
}

ByteRange same_segments(const Choice& choice, int p, std::size_t bytes, std::size_t units) {
  if (choice.segment == 0) return {};
  const auto segments = static_cast<std::size_t>(segments_for(choice, p, bytes));
  const auto first_of = [&](std::size_t count) { return count == 1 ? 0 : ((count - 1) * choice.segment + 1) * units; };
  const bool is_most = static_cast<std::size_t>(segments_for(choice, p, segments * choice.segment + 1)) == segments;
  return {first_of(segments), is_most ? SIZE_MAX : first_of(segments + 1) - 1};
}

}  // namespace omnes::inline select
