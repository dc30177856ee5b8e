// Which parts move in a round of the algorithms that bring each part to its place digit by digit of its distance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"

namespace omnes::inline algorithms {

/// The distances below p whose digit of the weight k^n is `step` / k^n, ascending, the first of them `step` itself.
inline std::vector<std::int32_t> moving_parts(std::int64_t p, std::int64_t k, std::int64_t weight, std::int64_t step) {
  OMNES_ASSERT(k >= 2 && weight >= 1 && step >= weight && step < k * weight && step % weight == 0);
  std::vector<std::int32_t> moving;
  for (std::int64_t first = step; first < p; first += k * weight)
    for (std::int64_t i = first; i < std::min(p, first + weight); ++i) moving.push_back(static_cast<std::int32_t>(i));
  return moving;
}

}  // namespace omnes::inline algorithms
