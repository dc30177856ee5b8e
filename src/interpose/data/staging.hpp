// Contiguous memory for what must be packed; grows, and keeps what it has.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "interpose/devices/devices.hpp"
#include "runtime/port.hpp"

namespace omnes::interpose {

/// Aligned for any type. A little is there from the start.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() { free(); }
  /// Throws std::bad_alloc.
  std::byte* room(std::size_t bytes);
  /// The same, for data that lie `there`, in the memory of a device. Null: of none.
  std::byte* room(std::size_t bytes, devices::Driver* device, const void* there);
  /// The host may still send from what it has got: that stays for good.
  void leave() {
    leave_to_host(data_);
    data_ = nullptr;
    bytes_ = 0;
    pinned_by_ = nullptr;
  }

 private:
  void free();
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  devices::Driver* pinned_by_ = nullptr;
  alignas(std::max_align_t) std::byte few_[256];  // bytes of one message that goes inline, and some
};

}  // namespace omnes::interpose
