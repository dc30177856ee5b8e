// Cross-memory attach: copying straight out of, or into, another process's memory, where the kernel permits it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnes::shm {

/// Copies `bytes` from `address` of process `pid` to `to`. Returns 0 or an errno.
int read_process(std::int64_t pid, std::uint64_t address, void* to, std::size_t bytes);
/// Copies `bytes` from `data` to `address` of process `pid`. Returns 0 or an errno.
int write_process(std::int64_t pid, std::uint64_t address, const void* data, std::size_t bytes);

}  // namespace omnes::shm
