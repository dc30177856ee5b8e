// Alltoall, exchange: in each round ranks pair up and swap parts, so that it can work in place with little memory.
//
// How. In round i the partner of rank r is r xor i for p a power of two (p - 1 rounds), else (i - r) modulo p (p
// rounds; a rank that is its own partner rests). Either way every two ranks meet exactly once.
// In place the outgoing part moves aside before the incoming one takes its place: into one temporary that serves all
// rounds, or, where parts may differ in size, one for each.
#include "algorithms/alltoall/source.hpp"
#include "algorithms/registry.hpp"

namespace omnes::inline algorithms {
namespace OMNES_UNNAMED {

int partner(int rank, int round, int p) { return (p & (p - 1)) == 0 ? rank ^ round : (round - rank + p) % p; }

void build(Builder& b) {
  const int p = b.p(), rank = b.rank();
  const bool in_place = b.problem().in_place;
  Blocks aside = in_place && !unequal(b.problem().operation) && p > 1 ? b.temp(1) : Blocks{};
  copy_own_part(b);
  for (int round = 0; round < p; ++round) {
    const int peer = partner(rank, round, p);
    if (peer == rank) continue;
    const Blocks incoming = b.part(Buffer::recv, peer);
    Blocks outgoing = b.part(Buffer::send, peer);
    b.step();
    if (in_place) {
      if (unequal(b.problem().operation)) aside = b.temp(1, peer);
      b.copy(incoming, aside);
      outgoing = aside;
    }
    b.send(peer, outgoing);
    b.recv(peer, incoming);
  }
}

const Register registered{{
    .operation = Operation::alltoall,
    .name = "exchange",
    .summary = "pairs of ranks swap parts; in place without a copy of everything",
    .source = "Thakur, Rabenseifner, Gropp 2005 (xor); one-factorisation with rests for other p",
    .build = build,
    .unequal = true,
}};

}  // namespace OMNES_UNNAMED
}  // namespace omnes::inline algorithms
