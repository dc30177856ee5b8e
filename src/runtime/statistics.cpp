// Counted with each plan, and summed over them.
#include "runtime/statistics.hpp"

#include <algorithm>
#include <utility>

namespace omnes::inline runtime {

void Prepared::find_counted(std::size_t rounded) {
  auto at = std::ranges::find(counted, rounded, &Counted::bytes);
  if (at == counted.end()) at = counted.insert(at, {.bytes = rounded});
  last_counted = static_cast<std::size_t>(at - counted.begin());
}

void Prepared::count_quick() {
  Counted& of = counted[last_counted];
  const std::uint64_t made = std::exchange(quick.before, 0);
  of.calls += made;
  of.untimed += static_cast<std::int64_t>(made);
  of.volume += made * own_bytes;
  of.waited += std::exchange(plan.waited, 0);
}

void Statistics::add(const Key& key, const Prepared& prepared) {
  const int root = rooted(key.operation()) ? key.root() : 0;
  for (Prepared::Counted more : prepared.counted) {
    more.take_untimed();
    const Ran fresh{.operation = key.operation(),
                    .form = key.form(),
                    .root = root,
                    .bytes = more.bytes,
                    .algorithm = prepared.algorithm,
                    .fastest = more.fastest,
                    .advice = prepared.advice};
    Ran& ran =
        ran_.try_emplace({key.operation(), key.form(), root, more.bytes, prepared.algorithm}, fresh).first->second;
    ran.calls += more.calls;
    ran.volume += more.volume;
    ran.seconds += more.seconds;
    ran.fastest = std::min(ran.fastest, more.fastest);
  }
}

std::vector<Ran> Statistics::all() const {
  std::vector<Ran> all;
  for (const auto& [key, ran] : ran_) all.push_back(ran);
  return all;
}

}  // namespace omnes::inline runtime
