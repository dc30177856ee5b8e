// Halving p down to 1.
#include "algorithms/circulant.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace omnes::inline algorithms {

std::vector<int> circulant_skips(int p) {
  OMNES_ASSERT(p >= 1);
  std::vector<int> skips{p};
  while (skips.back() > 1) skips.push_back((skips.back() + 1) / 2);
  std::reverse(skips.begin(), skips.end());
  return skips;
}

}  // namespace omnes::inline algorithms
