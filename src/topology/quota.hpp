// How much CPU time the control groups of a process allow, as containers and batch systems limit it (docker run --cpus,
// Kubernetes' limits, systemd's CPUQuota): who has used it up is stopped until the period, 0.1 s by default, is over.
//
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max) and scheduler/sched-bwc.rst (cpu.cfs_quota_us).
#pragma once

#include <optional>
#include <string>

namespace omnes::inline topology {

/// CPUs that this process and the others of its tightest control group may keep busy, such as 1.5; none: as many as there
/// are. Below `root` lie /proc and /sys.
std::optional<double> cpu_quota(const std::string& root = "");

}  // namespace omnes::inline topology
