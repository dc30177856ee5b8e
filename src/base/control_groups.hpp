// The control groups of this process, by which containers and batch systems limit what it may use.
//
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
#pragma once

#include <functional>
#include <string>

namespace omnes {

/// Calls `look` for the folder of each group that may limit what this controller ("cpu", "memory") counts: those of both versions
/// that the process is in, and all that these are part of. Below `root` lie /proc and /sys.
void for_each_control_group(const std::string& controller, const std::string& root,
                            const std::function<void(const std::string& folder)>& look);

}  // namespace omnes
