// Allgather, k-ring: every rank gets p - 1 messages of one part, only one in k of them from outside its group of k
// consecutive ranks; no part takes more than k - 1 steps inside a group and one for every further group.
//
// How. Groups form a ring, and so do the ranks of each group. Each group sends parts on to the next group, rank i to
// rank i, and as soon as a rank has a part from outside, the part goes round in its group. The two movements are
// independent: a part travels on to the next group while it still goes round in this one.
// Where k does not divide p the last group is short. There the part of a group's i-th rank enters and leaves at rank
// i modulo the group's size, so that its ranks get more from outside.
#include <algorithm>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

/// The ranks of one group.
struct Group {
  int first, size;
  int rank_at(int position) const { return first + position % size; }
};

void build(Builder& b) {
  const int p = b.p(), rank = b.rank(), k = std::min(b.problem().radix, p);
  const int groups = (p + k - 1) / k;
  const auto group = [&](int number) {
    const int first = (number + groups) % groups * k;
    return Group{first, std::min(k, p - first)};
  };
  const int mine = rank / k;
  const Group here = group(mine), below = group(mine - 1), above = group(mine + 1);
  const int position = rank - here.first;
  const int right = here.rank_at(position + 1), left = here.rank_at(position + here.size - 1);

  /// Calls visit(part, i) for the parts of `from` that enter this group at the given position.
  const auto entering = [&](Group from, int at, auto&& visit) {
    for (int i = at % here.size; i < from.size; i += here.size) visit(b.part(Buffer::recv, from.first + i), i);
  };
  b.copy(b.own(), b.part(Buffer::recv, rank));
  for (int hop = 0; hop < groups; ++hop) {
    const Group from = group(mine - hop);
    if (hop > 0) entering(from, position, [&](Blocks part, int i) { b.recv(below.rank_at(i), part); });
    if (hop + 1 < groups) entering(from, position, [&](Blocks part, int i) { b.send(above.rank_at(i), part); });
    for (int round = 1; round < here.size; ++round) {
      const int outgoing = position + here.size - round + 1, incoming = outgoing - 1;
      entering(from, outgoing, [&](Blocks part, int) { b.send(right, part); });
      entering(from, incoming, [&](Blocks part, int) { b.recv(left, part); });
    }
  }
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "kring",
    .summary = "a ring of rings of k ranks, so that few parts travel far",
    .source = "Wilkins et al. 2023 (k-ring)",
    .build = build,
    .default_radix = 4,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
