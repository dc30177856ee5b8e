// Machines as text.
#include "topology/machine.hpp"

#include <array>
#include <cstdio>

namespace omnes::inline topology {

namespace {

std::string human(std::size_t bytes) {
  static constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g %s", value, units[unit]);
  return text.data();
}

}  // namespace

std::string ranges(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i) text += '-' + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

std::string to_string(const Machine& machine) {
  std::string text;
  for (const Level& one : machine.levels) {
    std::array<char, 64> head{};
    std::snprintf(head.data(), head.size(), "%-7s %4zu x %9s  ", one.name.c_str(), one.groups.size(),
                  one.bytes > 0 ? human(one.bytes).c_str() : "");
    text += head.data();
    for (std::size_t i = 0; i < one.groups.size(); ++i)
      text += (i > 0 ? " | " : "") + (one.groups[i].empty() ? "no CPUs" : ranges(one.groups[i]));
    text += '\n';
  }
  return text;
}

}  // namespace omnes::inline topology
