// Keeps calls, and thins them out.
#include "runtime/sample.hpp"

namespace omnes::inline runtime {

void Sample::add(std::int64_t begin, std::int64_t end, int root, std::uint32_t site) {
  timed_.push_back({calls(), begin, end, root, site});
  if (timed_.size() < max_) return;
  below_ >>= 1;
  std::erase_if(timed_, [&](const TimedCall& call) { return call.number * golden > below_; });
  find_next(calls());
}

void Sample::find_next(std::uint64_t calls) {
  next_ = calls + 1;
  while (next_ * golden > below_) ++next_;
  left_ = next_ - calls - 1;
}

void Sample::thin_to(std::size_t most) {
  for (std::uint64_t below = below_; timed_.size() > most && below != 0;) {
    below >>= 1;
    std::erase_if(timed_, [&](const TimedCall& call) { return call.number * golden > below; });
  }
}

}  // namespace omnes::inline runtime
