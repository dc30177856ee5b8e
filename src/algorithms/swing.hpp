// Swing's butterfly: 2^q members meet the partners of alternating.hpp, the shortest distance first, which suits the
// rounds of a reduce-scatter, as they halve the message.
//
// Why it is a butterfly. Two rounds' distances differ by a multiple of 2^(r+1), where r is the earlier of the
// rounds. So those whom the rounds r..q-1 reach from one member are the even ones of its class modulo 2^(r+1), and
// their peers in the last round. That splits the members into groups of 2^(q-r), and each of them into two at round r.
// Source: De Sensi, Bonato, Saam, Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024.
#pragma once

#include <bit>

#include "algorithms/alternating.hpp"

namespace omnes::inline algorithms {

/// Numbers the members so that each group is a range, and in round r the highest r bits name it: member 0 is number 0.
inline int swing_place(int member, int members) {
  OMNES_ASSERT(std::has_single_bit(static_cast<unsigned>(members)) && member >= 0 && member < members);
  int rounds = 0;
  while ((1 << rounds) < members) ++rounds;
  if (rounds == 0) return 0;
  const int even = member % 2 == 0 ? member : alternating_partner(member, rounds - 1, members);
  int place = member % 2;
  for (int round = 1; round < rounds; ++round) place |= (even >> round & 1) << (rounds - round);
  return place;
}

}  // namespace omnes::inline algorithms
