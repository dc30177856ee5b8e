// Windows of MPI_Win_allocate_shared: memory of which each rank's part is mapped in all ranks of the window.
//
// How: each rank knows its own parts, and where those of the others lie here. A sender says of a message whether it lies
// in its own part (RemoteBuffer::in_window), since only the owner knows when a window is gone; a reader that is no
// rank of the window finds nothing, and has another way.
// Threads may call everything at any time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "transport/shm/heap/mapped_memory.hpp"

namespace omnes::shm {

class SharedWindows {
 public:
  /// A rank's part of a window.
  struct Part {
    std::int64_t pid = 0;  ///< of its owner
    MappedMemory mapping;  ///< its base: only of others
  };

  /// `name` is any number that no other window has at the time.
  void add(std::uint64_t name, const Part& own, std::vector<Part> of_others) {
    const std::lock_guard lock(mutex_);
    windows_.push_back({name, own, std::move(of_others)});
    count_.store(windows_.size(), std::memory_order_relaxed);
  }
  void remove(std::uint64_t name) {
    const std::lock_guard lock(mutex_);
    std::erase_if(windows_, [&](const Window& window) { return window.name == name; });
    count_.store(windows_.size(), std::memory_order_relaxed);
  }

  /// Whether all of it lies in an own part.
  bool holds(const void* data, std::size_t bytes) const {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const std::shared_lock lock(mutex_);
    return std::ranges::any_of(windows_, [&](const Window& window) {
      return window.own.mapping.has(reinterpret_cast<std::uintptr_t>(data), bytes);
    });
  }
  /// Where what lies at `address` in process `pid` lies here; null unless all of it is in a window.
  std::byte* here(std::int64_t pid, std::uint64_t address, std::size_t bytes) const {
    const std::shared_lock lock(mutex_);
    for (const Window& window : windows_)
      for (const Part& part : window.of_others)
        if (part.pid == pid)
          if (std::byte* found = part.mapping.here(address, bytes)) return found;
    return nullptr;
  }

 private:
  struct Window {
    std::uint64_t name;
    Part own;
    std::vector<Part> of_others;
  };
  mutable std::shared_mutex mutex_;
  std::vector<Window> windows_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace omnes::shm
