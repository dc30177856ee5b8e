#include "topology/quota.hpp"

#include <algorithm>
#include <fstream>

#include "base/control_groups.hpp"

namespace omnes::inline topology {

namespace {

/// A limit of version 2, "50000 100000" or "max 100000", or the two files of version 1, where -1 is no limit.
std::optional<double> quota_of(const std::string& group) {
  double time = 0, period = 0;
  std::ifstream(group + "/cpu.max") >> time >> period;
  if (period <= 0) {
    std::ifstream(group + "/cpu.cfs_quota_us") >> time;
    std::ifstream(group + "/cpu.cfs_period_us") >> period;
  }
  if (time <= 0 || period <= 0) return std::nullopt;
  return time / period;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  for_each_control_group("cpu", root, [&](const std::string& group) {
    const std::optional<double> quota = quota_of(group);
    if (quota) least = std::min(*quota, least.value_or(*quota));
  });
  return least;
}

}  // namespace omnes::inline topology
