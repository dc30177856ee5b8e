// Allgather, Bine butterfly with doubling distance: ceil(log2(p)) rounds for even p, in which pairs exchange all that
// they have.
//
// How. The partners' distances 1, -1, 3, -5 ... are such that everybody always holds the parts of consecutive ranks
// (modulo p), and partners hold neighbouring ranges: an even rank's range grows upwards and downwards in turn, an odd
// one's is its mirror image. So a message needs no packing; it falls in two where its range wraps around. In the last
// round only the parts that are still missing move.
// Why it is correct. Say an even rank r holds the n parts from r + a on, so an odd one those up to r - a. The next
// range up from r starts at r + a + n and is the whole range of the odd rank r + 2(a + n) - 1, the next one down is
// that of r + 2a - 1. With a = 0, n = 1 at first these are the partners: n doubles and a falls by n on the way down.
#include <algorithm>

#include "algorithms/alternating.hpp"
#include "algorithms/patterns.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  if (p == 1) b.copy(b.own(), b.part(Buffer::recv, 0));
  int lowest = 0, held = 1;  // an even rank's range, from the rank on
  for (int step = 0; held < p; ++step) {
    const int peer = alternating_partner(rank, step, p), n = std::min(held, p - held);
    const bool evens_up = step % 2 == 0;
    const auto each_wanted = [&](int of, auto&& visit) {
      const bool even = of % 2 == 0;
      const int above = even ? lowest + held : 1 - lowest, below = even ? lowest - n : 1 - lowest - held - n;
      cyclic_runs(of + (even == evens_up ? above : below) + 2 * p, n, p,
                  [&](int first, int count) { visit(b.part(Buffer::recv, first, count)); });
    };
    if (held == 1) {
      b.send(peer, b.own());
      b.copy(b.own(), b.part(Buffer::recv, rank));
    } else {
      each_wanted(peer, [&](Blocks parts) { b.send(peer, parts); });
    }
    each_wanted(rank, [&](Blocks parts) { b.recv(peer, parts); });
    if (!evens_up) lowest -= held;
    held += n;
  }
}

const Register registered{{
    .operation = Operation::allgather,
    .name = "bine",
    .summary = "alternating partners at doubling distance exchange all they have",
    .source = "De Sensi et al. 2025 (butterfly); ranges derived here",
    .build = build,
    .even = true,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
