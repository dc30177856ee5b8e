// Allgather, Sparbit: ceil(log2(p)) rounds for any p, the far ranks first, so that the rounds with most data stay near.
//
// How. Each part spreads over a binomial tree of its own: in the round of distance d, which halves from round to round,
// the ranks that have the part of rank r, which are r, r + 2d, r + 4d ... (below r + p), send it d further. So a rank
// has the parts from 0, 2d, 4d ... places to its left to send on, the same number on every rank.
// Cost. p - 1 messages of one part each, because the parts of a round are not neighbours in the buffer: compared with
// Bruck's algorithm this saves distance, not messages.
#include <bit>

#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const auto left = [&](int places) { return (rank - places + p) % p; };
  for (int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(p))) / 2; distance > 0; distance /= 2) {
    for (int place = 0; place + distance < p; place += 2 * distance)
      b.send((rank + distance) % p, place == 0 ? b.own() : b.part(Buffer::recv, left(place)));
    for (int place = distance; place < p; place += 2 * distance)
      b.recv(left(distance), b.part(Buffer::recv, left(place)));
  }
  b.copy(b.own(), b.part(Buffer::recv, rank));
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "sparbit",
    .summary = "halving distance, part by part, no packing",
    .source = "Loch, Koslovski 2021",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
