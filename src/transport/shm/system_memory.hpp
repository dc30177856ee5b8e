// What the system says of its memory: how long a page is, and whether some of it lies nearer than other.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace omnes::shm {

inline std::size_t rounded_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// Bytes of the kernel's pages: 64 KiB on some machines.
inline std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Whether some memory lies nearer to this CPU than other memory does.
inline bool has_several_memories() {
  static const bool several = [] {
    std::string nodes;
    std::ifstream("/sys/devices/system/node/has_memory") >> nodes;
    return nodes.find_first_of(",-") != std::string::npos;
  }();
  return several;
}

}  // namespace omnes::shm
