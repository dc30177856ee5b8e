// Tags of a communicator of ours: those that have come back are handed out first.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace omnes::interpose {

class TagPool {
 public:
  /// Blocks of so many tags, which begin at `first`, first + block, ... up to `last`.
  TagPool(int first, int block, int last) : next_(first), block_(block), last_(last) {}

  /// The first tag of a block, or -1: all are out.
  int take() {
    const std::lock_guard lock(mutex_);
    if (!returned_.empty()) {
      const int tag = returned_.back();
      returned_.pop_back();
      return tag;
    }
    if (next_ > last_) return -1;
    if (returned_.capacity() == handed_out_) returned_.reserve(2 * handed_out_ + 1);  // for all to come back
    ++handed_out_;
    return std::exchange(next_, next_ + block_);
  }
  void give_back(int first) {
    const std::lock_guard lock(mutex_);
    returned_.push_back(first);
  }

 private:
  std::mutex mutex_;
  std::vector<int> returned_;
  std::size_t handed_out_ = 0;
  int next_;
  const int block_, last_;
};

}  // namespace omnes::interpose
