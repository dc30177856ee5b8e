// Makes room.
#include "interpose/data/staging.hpp"

#include <new>

namespace omnes::interpose {

std::byte* Staging::room(std::size_t bytes) {
  if (bytes <= sizeof few_) return few_;
  if (bytes > bytes_) {
    std::free(data_);
    constexpr std::size_t page = 4096;
    bytes_ = (bytes + page - 1) / page * page;
    data_ = static_cast<std::byte*>(std::aligned_alloc(page, bytes_));
    if (!data_) {
      bytes_ = 0;
      throw std::bad_alloc();
    }
  }
  return data_;
}

}  // namespace omnes::interpose
