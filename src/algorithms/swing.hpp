// Swing's butterfly: peers at distance 1, 1, 3, 5, 11, ..., to the right and to the left in turn.
//
// How. Among m = 2^q members, even ones go by +1, -1, +3, -5, ...: the sums 1 + (-2) + 4 + ... of powers of -2; odd ones
// go the other way. So distances grow by less than a hypercube's 1, 2, 4, 8, ..., and shortest first suits the rounds
// of a reduce-scatter, which halve the message.
// Why it is a butterfly. Two different rounds' peers differ by a multiple of 2^(r+1), where r is the earlier of
// the rounds. So those whom the rounds r..q-1 reach from one member are the even ones of its class modulo 2^(r+1), and
// their peers in the last round. That splits the members into groups of 2^(q-r), and each of them into two at round r.
// Source: De Sensi, Bonato, Saam, Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024.
#pragma once

namespace omnes {

/// The sum of (-2)^i for i = 0..round.
inline int swing_distance(int round) {
  int sum = 0, power = 1;
  for (int i = 0; i <= round; ++i, power *= -2) sum += power;
  return sum;
}

/// The other member in a round; `members` is a power of two.
inline int swing_peer(int member, int round, int members) {
  const int distance = swing_distance(round);
  return (member + (member % 2 == 0 ? distance : -distance)) & (members - 1);
}

/// Numbers the members so that each group is a range, and in round r the highest r bits name it: member 0 is number 0.
inline int swing_place(int member, int members) {
  int rounds = 0;
  while ((1 << rounds) < members) ++rounds;
  if (rounds == 0) return 0;
  const int even = member % 2 == 0 ? member : swing_peer(member, rounds - 1, members);
  int place = member % 2;
  for (int round = 1; round < rounds; ++round) place |= (even >> round & 1) << (rounds - round);
  return place;
}

}  // namespace omnes
