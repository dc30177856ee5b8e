// Makes room, and has devices copy there by themselves.
#include "interpose/data/staging.hpp"

#include <atomic>
#include <new>

namespace omnes::interpose {

namespace {

// Of staging memory. What is pinned is memory that nobody else can have: on a machine with a GPU this much is little.
constexpr std::size_t max_pinned = std::size_t{1} << 30;
std::atomic<std::size_t> pinned{0};

// Below, a driver's own copy costs less than it takes to pin pages for it.
constexpr std::size_t min_pinned = 16384;

}  // namespace

void Staging::free() {
  if (pinned_by_ != nullptr) {
    devices::unpin(*pinned_by_, data_);
    pinned -= bytes_;
    pinned_by_ = nullptr;
  }
  std::free(data_);
  data_ = nullptr;
}

std::byte* Staging::room(std::size_t bytes) {
  if (bytes <= sizeof few_) return few_;
  if (bytes > bytes_) {
    free();
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

std::byte* Staging::room(std::size_t bytes, devices::Driver* device, const void* there) {
  std::byte* const data = room(bytes);
  if (device == nullptr || bytes < min_pinned || pinned_by_ != nullptr) return data;
  if (pinned.fetch_add(bytes_) + bytes_ <= max_pinned && devices::pin(*device, data, bytes_, there))
    pinned_by_ = device;
  else
    pinned -= bytes_;
  return data;
}

}  // namespace omnes::interpose
