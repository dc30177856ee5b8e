// Contiguous memory for what must be packed; grows, and keeps what it has.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "runtime/port.hpp"

namespace omnes::interpose {

/// Aligned for any type. A little is there from the start.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() { std::free(data_); }
  /// Throws std::bad_alloc.
  std::byte* room(std::size_t bytes);
  /// The host may still send from what it has got: that stays for good.
  void leave() {
    leave_to_host(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  alignas(std::max_align_t) std::byte few_[256];  // bytes of one message that goes inline, and some
};

}  // namespace omnes::interpose
