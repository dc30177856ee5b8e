// Allgather on a circle, where ranks always hold the parts of consecutive ranks (modulo p), their own first.
#pragma once

#include <span>

#include "schedule/builder.hpp"

namespace omnes::inline algorithms {

/// Take from the rank `distance` to the right the first `count` parts that it holds.
struct Pull {
  int distance, count;
};

/// One round: everybody pulls at once, so each rank also serves those to its left. Parts go straight to their final
/// places; where they wrap around they travel as two messages, which sender and receiver split alike. The first round
/// is the one with a pull at distance 1 and puts the own part into place.
void pull_round(Builder& b, std::span<const Pull> pulls);

}  // namespace omnes::inline algorithms
