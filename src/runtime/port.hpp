// The host MPI as the runtime sees it: nonblocking point-to-point and a nudge to its progress engine, behind plain function
// pointers so that the runtime itself knows no mpi.h (three ABIs share one core, tests use none).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace omnes::inline runtime {

struct PortRequest {
  std::uint64_t handle = 0;  ///< room for one MPI_Request of any ABI
  bool through = false;      ///< the message is, as test() has found
};

/// The two kinds of channel have a tag each, so that they never match each other.
enum class ChannelKind : int { pair = 0, published = 1 };

/// All functions return 0, or the host's error code. Messages of one channel between two ranks match in order (one communicator).
struct MessagePort {
  void* context = nullptr;
  int (*isend)(void* context, int to, ChannelKind channel, const void* data, std::size_t bytes,
               PortRequest* request) = nullptr;
  int (*irecv)(void* context, int from, ChannelKind channel, void* data, std::size_t bytes,
               PortRequest* request) = nullptr;
  /// Finds out which of these messages are through. All together let the host's engine turn once: a turn may be a system call.
  int (*test)(void* context, std::span<PortRequest* const> requests) = nullptr;
  /// Waits until one of these messages is through, or all; test() then says which. Null where nothing is better than to test again and again:
  /// a simulator would charge for each test, and one rank that never stops testing lets no other one run.
  int (*wait)(void* context, std::span<PortRequest* const> requests, bool for_all) = nullptr;
  /// Of an operation that has failed: nobody waits for this message any more. A receive is cancelled, as its buffer may be gone soon; a send
  /// cannot be. Returns whether the host is done with the buffer. Null: there is nothing to do.
  bool (*withdraw)(void* context, PortRequest& request, bool receives) = nullptr;
};

/// Memory of malloc() from which something that has failed still sends: it stays for good. Null: nothing.
void leave_to_host(void* memory) noexcept;

}  // namespace omnes::inline runtime
