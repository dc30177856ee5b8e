#include "base/control_groups.hpp"

#include <fstream>
#include <sstream>

namespace omnes {

namespace {

bool is_among(const std::string& name, const std::string& comma_separated) {
  std::istringstream names(comma_separated);
  for (std::string one; std::getline(names, one, ',');)
    if (one == name) return true;
  return false;
}

}  // namespace

// Without the C++ library's paths, which end the process for want of memory.
void for_each_control_group(const std::string& controller, const std::string& root,
                            const std::function<void(const std::string&)>& look) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/a/b", or of version 1 "4:cpu,cpuacct:/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !is_among(controller, controllers)) continue;
    // A container may see its own group as the topmost one, whatever it is told of its path.
    const std::string mount = root + "/sys/fs/cgroup/" + controllers;
    look(mount);
    const std::string path = line.substr(second + 1);
    for (std::size_t end = path.find('/', 1); path.size() > 1; end = path.find('/', end + 1)) {
      look(mount + path.substr(0, end));
      if (end == path.npos) break;
    }
  }
}

}  // namespace omnes
