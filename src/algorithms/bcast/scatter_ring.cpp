// Bcast, scatter + ring allgather: every rank receives about one message in all, whatever p: for long messages.
//
// How: a binomial scatter leaves unit v (1/p of the message) on vrank v; then in p - 1 rounds everybody passes on
// to the right the unit that it got in the round before. Inner ranks of the scatter tree already hold units of
// their subtree, and those are not sent to them again.
#include "algorithms/bcast/binomial_scatter.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

bool holds(int v, int unit, int p) { return unit >= v && unit < v + units_held(v, p); }

void build(Builder& b) {
  const int p = b.p(), v = b.vrank(), segments = b.segments();
  b.cut(p * segments);
  scatter_units(b, p, segments);
  const int right = (v + 1) % p, left = (v - 1 + p) % p;
  for (int round = 0; round < p - 1; ++round) {
    const int outgoing = (v - round + p) % p, incoming = (left - round + p) % p;
    for (int s = 0; s < segments; ++s) {
      if (!holds(right, outgoing, p)) b.send(b.real(right), recv_blocks(outgoing * segments + s));
      if (!holds(v, incoming, p)) b.recv(b.real(left), recv_blocks(incoming * segments + s));
    }
  }
}

const Register registered{{
    .operation = Operation::bcast,
    .name = "scatter_ring",
    .summary = "binomial scatter, then ring allgather",
    .source = "Barnett et al. 1994; Thakur, Rabenseifner, Gropp 2005",
    .build = build,
    .segmented = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
