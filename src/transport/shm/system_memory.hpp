// What the system says of its memory: how long a page is, and whether some of it lies nearer than other; and what it is told.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
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

/// Whether core dumps of this process are to have these pages. To write a page that nobody has touched yet would make it.
inline void put_into_core_dumps(void* pages, std::size_t bytes, bool wanted) {
  // Not the function, which the preloaded library exports.
  syscall(SYS_madvise, pages, bytes, wanted ? MADV_DODUMP : MADV_DONTDUMP);
}

}  // namespace omnes::shm
