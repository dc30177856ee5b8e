// Expanding brackets, from the left to the right.
#include "topology/hostlist.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "topology/file.hpp"
#include "topology/limits.hpp"
#include "topology/lines.hpp"

namespace omnes::inline topology {

namespace {

constexpr std::size_t max_names = max_described;
constexpr std::size_t max_bytes = 64 * max_names;  // of all names
constexpr int max_cpus = 1 << 16;                  // Linux has 8192 at most (CONFIG_NR_CPUS)

struct Range {
  int first, last;
  int digits;  ///< of the first number, with its leading zeros; 1: it has none

  std::size_t count() const { return static_cast<std::size_t>(std::int64_t{last} - first + 1); }
};

/// A stretch of a name: as it stands, then with one number of these.
struct Stretch {
  std::string_view text;
  std::vector<Range> ranges;
};

std::string quoted(std::string_view text) { return "'" + one_line(text) + "'"; }

int number(std::string_view text, std::string_view where) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || text[0] == '-')
    throw std::invalid_argument(quoted(where) + " is no number and no range such as 1-16");
  return value;
}

Range range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const int first = number(low, text);
  const int last = dash == text.npos ? first : number(text.substr(dash + 1), text);
  if (last < first) throw std::invalid_argument(quoted(text) + " ends before it starts");
  const bool padded = low.size() > 1 && low[0] == '0';
  return {first, last, padded ? static_cast<int>(low.size()) : 1};
}

std::vector<Stretch> stretches(std::string_view pattern) {
  std::vector<Stretch> found;
  while (!pattern.empty()) {
    const std::size_t open = pattern.find_first_of("[]");
    found.push_back({pattern.substr(0, open), {}});
    if (open == pattern.npos) break;
    const std::size_t close = pattern.find_first_of("[]", open + 1);
    if (pattern[open] == ']' || close == pattern.npos || pattern[close] == '[')
      throw std::invalid_argument("a bracket without its other half in " + quoted(pattern));
    for (const std::string_view one : split_list(pattern.substr(open + 1, close - open - 1)))
      found.back().ranges.push_back(range(one));
    pattern.remove_prefix(close + 1);
  }
  return found;
}

/// How many names there are, and how long the longest is: before any is made. Beyond the limits, where it counts no further, at
/// least so many.
std::pair<std::size_t, std::size_t> extent(const std::vector<Stretch>& name) {
  std::size_t names = 1, length = 0;
  for (const Stretch& one : name) {
    std::size_t numbers = 0, digits = 0;
    for (const Range& range : one.ranges) {
      numbers = std::min(numbers + range.count(), max_names + 1);
      digits = std::max({digits, static_cast<std::size_t>(range.digits), std::to_string(range.last).size()});
    }
    if (!one.ranges.empty()) names = std::min(names * numbers, max_names + 1);
    length += one.text.size() + digits;
  }
  return {names, length};
}

std::vector<std::string> expand(const std::vector<Stretch>& name) {
  std::vector<std::string> names = {""};
  for (const Stretch& one : name) {
    for (std::string& stem : names) stem += one.text;
    if (one.ranges.empty()) continue;
    std::vector<std::string> longer;
    for (const std::string& stem : names)
      for (const Range& range : one.ranges)
        for (std::int64_t value = range.first; value <= range.last; ++value) {
          const std::string digits = std::to_string(value);
          const int zeros = std::max(0, range.digits - static_cast<int>(digits.size()));
          longer.push_back(stem + std::string(static_cast<std::size_t>(zeros), '0') + digits);
        }
    names = std::move(longer);
  }
  return names;
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view list) {
  std::vector<std::string> names;
  std::size_t bytes = 0;
  for (const std::string_view pattern : split_list(list)) {
    if (pattern.empty()) throw std::invalid_argument("an empty name in " + quoted(list));
    const std::vector<Stretch> name = stretches(pattern);
    const auto [count, length] = extent(name);
    bytes += count * length;
    if (names.size() + count > max_names)
      throw std::invalid_argument(quoted(list) + " has more than " + std::to_string(max_names) + " names");
    if (bytes > max_bytes)
      throw std::invalid_argument(quoted(list) + ": its names are longer than " + std::to_string(max_bytes >> 20) +
                                  " MiB together");
    std::vector<std::string> some = expand(name);
    if (names.empty())
      names = std::move(some);
    else
      names.insert(names.end(), some.begin(), some.end());
  }
  return names;
}

std::vector<int> parse_cpus(std::string_view list) {
  std::vector<int> change;  // of how many parts name a CPU, from one CPU to the next
  for (const std::string_view part : split_list(list)) {
    const Range numbers = range(part);
    if (numbers.last >= max_cpus)
      throw std::invalid_argument("no CPU " + std::to_string(numbers.last) + "; CPUs are below " +
                                  std::to_string(max_cpus));
    const auto first = static_cast<std::size_t>(numbers.first), end = static_cast<std::size_t>(numbers.last) + 1;
    if (end >= change.size()) change.resize(end + 1, 0);
    ++change[first];
    --change[end];
  }
  std::vector<int> cpus;
  int named = 0;
  for (std::size_t cpu = 0; cpu < change.size(); ++cpu)
    if ((named += change[cpu]) > 0) cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

}  // namespace omnes::inline topology
