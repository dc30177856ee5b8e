// Tags of a communicator of ours: those that have come back are handed out late, as a rank that has failed, of which the others
// need not know, may still send to them.
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
    if (returned_.size() >= kept_back || next_ > last_) {
      if (returned_.empty()) return -1;
      const int tag = returned_.front();
      returned_.erase(returned_.begin());
      return tag;
    }
    if (returned_.capacity() == handed_out_) returned_.reserve(2 * handed_out_ + 1);  // for all to come back
    ++handed_out_;
    return std::exchange(next_, next_ + block_);
  }
  void give_back(int first) {
    const std::lock_guard lock(mutex_);
    returned_.push_back(first);
  }

 private:
  static constexpr std::size_t kept_back = 256;  // blocks, of 1023 in the least number of tags that MPI allows
  std::mutex mutex_;
  std::vector<int> returned_;
  std::size_t handed_out_ = 0;
  int next_;
  const int block_, last_;
};

}  // namespace omnes::interpose
