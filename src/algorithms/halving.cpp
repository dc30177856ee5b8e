// Recursive halving: the message halves while the distance doubles.
#include "algorithms/halving.hpp"

#include <algorithm>

#include "algorithms/patterns.hpp"

namespace omnes::inline algorithms {

Range sibling(int member, int distance, Range mine) {
  return {(member & distance) != 0 ? mine.first - mine.count : mine.first + mine.count, mine.count};
}

Range joined(Range a, Range b) { return {std::min(a.first, b.first), a.count + b.count}; }

Range reduce_scatter_halving(Builder& b, const Folding& fold, Blocks own, Blocks into) {
  Range mine = {0, fold.members};
  const int partner = fold.partner(b.rank());
  if (!fold.leads(b.rank())) {
    b.send(partner, own);
    return mine;
  }
  Blocks sum = own;
  if (partner >= 0) {
    recv_reduce_in_order(b, partner, own, into);
    sum = into;
  }
  const int member = fold.member(b.rank());
  for (int distance = 1; distance < fold.members; distance *= 2) {
    const int peer = fold.leader(member ^ distance);
    const int half = mine.count / 2;
    mine = {(member & distance) != 0 ? mine.first + half : mine.first, half};
    const Range theirs = sibling(member, distance, mine);
    b.send(peer, sub(sum, theirs.first, theirs.count));
    recv_reduce_in_order(b, peer, sub(sum, mine.first, half), sub(into, mine.first, half));
    sum = into;
  }
  b.copy(sub(sum, mine.first, mine.count), sub(into, mine.first, mine.count));
  return mine;
}

}  // namespace omnes::inline algorithms
