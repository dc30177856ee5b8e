// What is looked up by bisection, and forgotten.
#include "runtime/plan_cache.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

namespace omnes::inline runtime {

PlanCache::Range& PlanCache::look_up(Ranges& ranges, std::size_t bytes, const Make& make) {
  std::vector<Range>& sorted = ranges.sorted;
  auto above = std::ranges::upper_bound(sorted, bytes, {}, [](const Range& range) { return range.sizes.from; });
  if (above == sorted.begin() || !std::prev(above)->sizes.contains(bytes)) {
    Range made;
    made.prepared.push_back(make(made.sizes));
    ++ranges_kept_;
    above = std::next(sorted.insert(above, std::move(made)));
  }
  ranges.last = static_cast<std::size_t>(std::prev(above) - sorted.begin());
  return sorted[ranges.last];
}

const std::shared_ptr<Prepared>& PlanCache::idle_one(Range& range) {
  for (const std::shared_ptr<Prepared>& one : range.prepared) {
    if (one.use_count() > 1) continue;
    std::atomic_thread_fence(std::memory_order_acquire);  // after whoever has let go of it
    return one;
  }
  auto another = std::make_shared<Prepared>(*range.prepared.front());
  another->counted.clear();
  return range.prepared.emplace_back(std::move(another));
}

void PlanCache::forget() {
  for_each(retire_);
  kinds_.clear();
  ranges_kept_ = 0;
  recent_.fill({});
}

void PlanCache::for_each(const Retire& see) const {
  for (const auto& [key, ranges] : kinds_)
    for (const Range& range : ranges.sorted)
      for (const std::shared_ptr<Prepared>& prepared : range.prepared) see(key, prepared);
}

}  // namespace omnes::inline runtime
