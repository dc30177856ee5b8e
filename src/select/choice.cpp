// Reading and writing choices, and the numbers in them.
#include "select/choice.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>

namespace omnes {

namespace {

/// More segments would only lengthen schedules: a pipeline this long is full nearly all of its time.
constexpr std::size_t most_segments = 256;
/// Many algorithms list an op or a few for each segment and rank: this keeps a schedule below 100 MB.
constexpr std::size_t most_segments_of_all_ranks = 1 << 18;

struct Unit {
  char letter;
  std::size_t bytes;
};
constexpr std::array<Unit, 3> units = {{{'G', 1 << 30}, {'M', 1 << 20}, {'K', 1 << 10}}};

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument(message); }

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

template <class Integer>
bool read_integer(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

Choice named(Operation operation, std::string_view wanted) {
  if (const Algorithm* algorithm = find_algorithm(operation, wanted)) return {.algorithm = algorithm};
  if (const Alias* alias = find_alias(operation, wanted))
    return {.algorithm = find_algorithm(operation, alias->algorithm), .radix = alias->radix};
  std::string valid;
  for (const Algorithm* algorithm : catalogue())
    if (algorithm->operation == operation) valid += (valid.empty() ? "" : ", ") + std::string(algorithm->name);
  refuse("no algorithm " + quoted(wanted) + " for " + std::string(name(operation)) + "; valid: " + valid);
}

std::string parameters_of(const Algorithm& algorithm) {
  std::string valid;
  if (algorithm.default_radix > 0) valid = "k=N";
  if (algorithm.segmented) valid += valid.empty() ? "segment=BYTES" : ", segment=BYTES";
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
  } else {
    refuse(std::string(name(algorithm.operation)) + " algorithm " + algorithm.name + " has no parameter " +
           quoted(key) + "; valid: " + parameters_of(algorithm));
  }
}

}  // namespace

int parse_number(std::string_view text, int lowest, int highest) {
  int value = 0;
  if (read_integer(text, value) && value >= lowest && value <= highest) return value;
  const std::string range = highest == std::numeric_limits<int>::max()
                                ? "from " + std::to_string(lowest) + " on"
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

Choice parse_choice(Operation operation, std::string_view text) {
  const std::size_t colon = text.find(':');
  Choice choice = named(operation, text.substr(0, colon));
  const int alias_radix = choice.radix;
  while (colon != text.npos) {
    text.remove_prefix(text.find_first_of(":,") + 1);
    const std::size_t comma = text.find(',');
    read_parameter(choice, text.substr(0, comma), alias_radix);
    if (comma == text.npos) break;
  }
  return choice;
}

std::string to_string(const Choice& choice) {
  std::string text = choice.algorithm->name;
  if (choice.radix != 0) text += ":k=" + std::to_string(choice.radix);
  if (choice.segment != 0) text += (choice.radix != 0 ? ",segment=" : ":segment=") + bytes_text(choice.segment);
  return text;
}

int segments_for(const Choice& choice, int p, std::size_t bytes) {
  if (choice.segment == 0 || bytes <= choice.segment) return 1;
  const std::size_t most = std::max<std::size_t>(most_segments_of_all_ranks / static_cast<std::size_t>(p), 1);
  return static_cast<int>(std::min({(bytes - 1) / choice.segment + 1, most_segments, most}));
}

}  // namespace omnes
