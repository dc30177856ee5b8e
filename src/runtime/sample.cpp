// Keeps what is timed, and thins it out.
#include "runtime/sample.hpp"

namespace omnes::inline runtime {

void Sample::add(std::int64_t begin, std::int64_t end, int root, std::uint32_t site) {
  const std::size_t full = max_ != 0 ? max_ : usual;
  if (max_ != 0) timed_.push_back({calls_, begin, end, root, site});
  ++since_thinned_;
  const bool has_room = max_ != 0 ? timed_.size() < full : since_thinned_ < full;
  if (has_room || thinned_ == 63) return;
  ++thinned_;
  below_ >>= 1;
  since_thinned_ = 0;
  std::erase_if(timed_, [&](const TimedCall& call) { return call.number * golden > below_; });
}

void Sample::thin_to(std::size_t most) {
  for (std::uint64_t below = below_; timed_.size() > most && below != 0;) {
    below >>= 1;
    std::erase_if(timed_, [&](const TimedCall& call) { return call.number * golden > below; });
  }
}

}  // namespace omnes::inline runtime
