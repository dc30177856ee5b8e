// Memory of a process that is mapped in another one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnes::shm {

struct MappedMemory {
  std::uint64_t address = 0;  ///< in its owner
  std::uint64_t bytes = 0;
  std::byte* base = nullptr;  ///< here

  /// Whether all of what lies there in its owner is part of it.
  bool has(std::uint64_t first, std::size_t count) const {
    const std::uint64_t offset = first - address;
    return offset < bytes && count <= bytes - offset;
  }
  /// Where that lies here; null unless all of it is part of it.
  std::byte* here(std::uint64_t first, std::size_t count) const {
    return has(first, count) ? base + (first - address) : nullptr;
  }
};

}  // namespace omnes::shm
