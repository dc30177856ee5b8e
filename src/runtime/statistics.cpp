// Counted with each plan, and summed over them.
#include "runtime/statistics.hpp"

#include <algorithm>
#include <bit>

namespace omnes::inline runtime {

void Prepared::add(std::chrono::duration<double> time) {
  const std::size_t rounded = std::bit_floor(bytes);
  auto at = std::ranges::find(counted, rounded, &Counted::bytes);
  if (at == counted.end()) at = counted.insert(at, {.bytes = rounded});
  ++at->calls;
  at->volume += own_bytes;
  at->seconds += time.count();
  at->fastest = std::min(at->fastest, time.count());
}

void Statistics::add(const Key& key, const Prepared& prepared) {
  const int root = rooted(key.operation()) ? key.root() : 0;
  for (const Prepared::Counted& more : prepared.counted) {
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
