// The largest product of small radices.
#include "algorithms/mixed_radix.hpp"

#include <algorithm>

namespace omnes::inline algorithms {

namespace {

/// Divides by the largest radix first; what remains above 1 has no divisor up to k.
std::vector<int> factors(int members, int k) {
  std::vector<int> found;
  for (int radix = std::min(k, members); radix > 1; --radix)
    for (; members % radix == 0; members /= radix) found.push_back(radix);
  if (members > 1) found.clear();
  return found;
}

}  // namespace

MixedRadix::MixedRadix(int p, int k) : fold(p) {
  int members = p;
  while (members > 1 && (radices = factors(members, k)).empty()) --members;
  fold.members = members;
  fold.pairs = p - members;
}

}  // namespace omnes::inline algorithms
