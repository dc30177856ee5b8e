// Data that do not lie in a row, as what they are when packed: a plan moves parts of that, which are packed into where messages
// go, and unpacked from where they come from.
#pragma once

#include <cstddef>

#include "schedule/schedule.hpp"

namespace omnes::inline runtime {

/// Two functions that read and write `bytes` bytes from byte `offset` on. They may be called from any thread, and neither wait nor throw.
struct Scattered {
  void (*pack)(const void* context, std::size_t offset, std::byte* to, std::size_t bytes) = nullptr;
  void (*unpack)(const void* context, std::size_t offset, const std::byte* from, std::size_t bytes) = nullptr;
  const void* context = nullptr;
};

/// Of a call; null: lies in a row.
struct ScatteredBuffers {
  const Scattered* send = nullptr;
  const Scattered* recv = nullptr;
  bool any() const { return send != nullptr || recv != nullptr; }
  const Scattered* operator[](Buffer buffer) const {
    return buffer == Buffer::send ? send : buffer == Buffer::recv ? recv : nullptr;
  }
};

}  // namespace omnes::inline runtime
