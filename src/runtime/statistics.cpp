// Counted with each plan, and summed over them.
#include "runtime/statistics.hpp"

#include <algorithm>

namespace omnes::inline runtime {

void Prepared::find_counted(std::size_t rounded) {
  quick = nullptr;
  auto at = std::ranges::find(counted, rounded, &Counted::bytes);
  if (at == counted.end()) at = counted.insert(at, {.bytes = rounded});
  last_counted = static_cast<std::size_t>(at - counted.begin());
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
