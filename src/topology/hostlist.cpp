// Expanding brackets, from the left to the right.
#include "topology/hostlist.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "topology/lines.hpp"

namespace omnes::inline topology {

namespace {

constexpr std::size_t most_names = 1 << 24;  // what a slip such as [1-99999999] may not ask of memory
constexpr int most_cpus = 1 << 16;           // Linux has 8192 at most (CONFIG_NR_CPUS)

struct Range {
  int first, last;
  int digits;  ///< of the first number, with its leading zeros; 1: it has none
};

int number(std::string_view text, std::string_view where) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || text[0] == '-')
    throw std::invalid_argument("'" + std::string(where) + "' is no number and no range such as 1-16");
  return value;
}

Range range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const int first = number(low, text);
  const int last = dash == text.npos ? first : number(text.substr(dash + 1), text);
  if (last < first) throw std::invalid_argument("'" + std::string(text) + "' ends before it starts");
  const bool padded = low.size() > 1 && low[0] == '0';
  return {first, last, padded ? static_cast<int>(low.size()) : 1};
}

void append(std::vector<std::string>& names, const std::string& stem, const Range& numbers, std::string_view list) {
  if (names.size() + static_cast<std::size_t>(numbers.last - numbers.first) >= most_names)
    throw std::invalid_argument("'" + std::string(list) + "' has more than " + std::to_string(most_names) + " names");
  for (int value = numbers.first; value <= numbers.last; ++value) {
    const std::string digits = std::to_string(value);
    const int zeros = std::max(0, numbers.digits - static_cast<int>(digits.size()));
    names.push_back(stem + std::string(static_cast<std::size_t>(zeros), '0') + digits);
  }
}

/// One name with its brackets.
std::vector<std::string> expand(std::string_view pattern, std::string_view list) {
  std::vector<std::string> names = {""};
  while (!pattern.empty()) {
    const std::size_t open = pattern.find_first_of("[]");
    for (std::string& name : names) name += pattern.substr(0, open);
    if (open == pattern.npos) break;
    const std::size_t close = pattern.find_first_of("[]", open + 1);
    if (pattern[open] == ']' || close == pattern.npos || pattern[close] == '[')
      throw std::invalid_argument("a bracket without its other half in '" + std::string(pattern) + "'");
    std::vector<Range> ranges;
    for (const std::string_view one : split_list(pattern.substr(open + 1, close - open - 1)))
      ranges.push_back(range(one));
    std::vector<std::string> longer;
    for (const std::string& stem : names)
      for (const Range& numbers : ranges) append(longer, stem, numbers, list);
    names = std::move(longer);
    pattern.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view list) {
  std::vector<std::string> names;
  for (const std::string_view pattern : split_list(list)) {
    if (pattern.empty()) throw std::invalid_argument("an empty name in '" + std::string(list) + "'");
    std::vector<std::string> some = expand(pattern, list);
    if (names.empty())
      names = std::move(some);
    else
      names.insert(names.end(), some.begin(), some.end());
  }
  return names;
}

std::vector<int> parse_cpus(std::string_view list) {
  std::vector<int> cpus;
  for (const std::string_view part : split_list(list)) {
    const Range numbers = range(part);
    if (numbers.last >= most_cpus)
      throw std::invalid_argument("no CPU " + std::to_string(numbers.last) + "; CPUs are below " +
                                  std::to_string(most_cpus));
    for (int cpu = numbers.first; cpu <= numbers.last; ++cpu) cpus.push_back(cpu);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

}  // namespace omnes::inline topology
