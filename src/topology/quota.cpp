#include "topology/quota.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace omnes::inline topology {

namespace {

namespace fs = std::filesystem;

/// A limit of version 2, "50000 100000" or "max 100000", or the two files of version 1, where -1 is no limit.
std::optional<double> quota_of(const fs::path& group) {
  double time = 0, period = 0;
  std::ifstream(group / "cpu.max") >> time >> period;
  if (period <= 0) {
    std::ifstream(group / "cpu.cfs_quota_us") >> time;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  if (time <= 0 || period <= 0) return std::nullopt;
  return time / period;
}

/// Where a hierarchy of control groups that limits CPU time may be mounted, by its controllers as /proc tells them.
std::optional<std::string> mounted_at(const std::string& controllers) {
  if (controllers.empty()) return "";  // version 2
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == "cpu") return controllers;
  return std::nullopt;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  const auto look = [&](const fs::path& group) {
    const std::optional<double> quota = quota_of(group);
    if (quota) least = std::min(*quota, least.value_or(*quota));
  };
  std::ifstream groups(fs::path(root) / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/a/b" or "4:cpu,cpuacct:/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::optional<std::string> mount = mounted_at(line.substr(first + 1, second - first - 1));
    if (!mount) continue;
    // All that it is in. A container may see its own group as the topmost one, whatever it is told of its path.
    fs::path group = fs::path(root) / "sys/fs/cgroup" / *mount;
    look(group);
    for (const fs::path& name : fs::path(line.substr(second + 1)).relative_path()) look(group /= name);
  }
  return least;
}

}  // namespace omnes::inline topology
