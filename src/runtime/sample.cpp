// Keeps calls, and thins them out.
#include "runtime/sample.hpp"

namespace omnes::inline runtime {

void Sample::add(std::int64_t begin, std::int64_t end, int root, std::uint32_t site) {
  timed_.push_back({calls_, begin, end, root, site});
  if (timed_.size() < max_ || below_ == 0) return;
  below_ >>= 1;
  std::erase_if(timed_, [&](const TimedCall& call) { return call.number * golden > below_; });
}

void Sample::thin_to(std::size_t most) {
  for (std::uint64_t below = below_; timed_.size() > most && below != 0;) {
    below >>= 1;
    std::erase_if(timed_, [&](const TimedCall& call) { return call.number * golden > below; });
  }
}

}  // namespace omnes::inline runtime
